import t from 'tap';
import { createPolicyProblem } from '../../../../src/features/cross-tenant/cross-tenant-policies.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const clock = createFakeClock(Date.parse('2026-06-01T00:00:00Z'));
const options = { systemTenant: 'system', clock };
const readPods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };

function policy(spec: object = {}, metadata: object = {}): object {
  const subjects = [{ kind: 'User', tenant: 'globex', name: 'gina' }];
  return {
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'CrossTenantPolicy',
    metadata: { name: 'p', tenant: 'acme', ...metadata },
    spec: { subjects, namespaces: ['web'], rules: [readPods], ...spec },
  };
}

t.test(
  'a policy that would grant nothing is refused when it is written, and the message names the field',
  async (t) => {
    const policyProblem = createPolicyProblem({ ...options, grantable: [] });
    for (const [object, field] of [
      [policy({}, { name: 'a.b' }), 'metadata.name'],
      [policy({ subjects: [{ kind: 'User', tenant: 'acme', name: 'x' }] }), 'spec.subjects[0].tenant'],
      [policy({ rules: [{ ...readPods, resources: ['nodes'] }] }), 'spec.rules[0]'],
      [policy({ notAfter: '2026-05-31T00:00:00Z' }), 'it ended'],
      [policy({ until: 'never' }), 'spec'],
    ] as const)
      t.ok(policyProblem(object, 'acme')?.startsWith(field), field);
    t.equal(policyProblem(policy(), 'acme'), undefined);
    t.type(policyProblem({ ...policy(), apiVersion: 'tenancy.stonegate.dev/v2' }, 'acme'), 'string');
    t.type(policyProblem(policy(), 'system'), 'string');
  },
);

t.test(
  'rights that the operator has made grantable may be granted; while they are unknown, none is refused',
  async (t) => {
    const gadgets = { verbs: ['get'], apiGroups: ['example.com'], resources: ['gadgets'] };
    const object = policy({ rules: [gadgets] });
    t.match(
      createPolicyProblem({ ...options, grantable: [] })(object, 'acme'),
      /not among what policies may grant/,
    );
    t.equal(createPolicyProblem({ ...options, grantable: [gadgets] })(object, 'acme'), undefined);
    t.equal(createPolicyProblem({ ...options, grantable: undefined })(object, 'acme'), undefined);
  },
);
