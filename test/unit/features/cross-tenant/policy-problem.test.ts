import t from 'tap';
import { createPolicyProblem } from '../../../../src/features/cross-tenant/policy-problem.ts';
import { admissionRequest, verdictOn } from '../../../support/admission-reviews.ts';
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

t.test('what would grant nothing is refused when it is written, with the field', async (t) => {
  const policyProblem = createPolicyProblem({ ...options, grantable: [] });
  const cases: readonly [object, string][] = [
    [policy({}, { name: 'a.b' }), 'metadata.name'],
    [policy({ subjects: [] }), 'spec.subjects'],
    [policy({ subjects: [{ kind: 'User', tenant: 'acme', name: 'x' }] }), 'spec.subjects[0].tenant'],
    [
      policy({ subjects: [{ kind: 'Group', tenant: 'globex', name: 'system:masters' }] }),
      'spec.subjects[0].name',
    ],
    [policy({ notAfter: 'tomorrow' }), 'spec.notAfter'],
    [policy({ notAfter: '2026-05-31T00:00:00Z' }), 'spec'],
    [policy({ rules: [{ ...readPods, resources: ['nodes'] }] }), 'spec.rules[0]'],
    [policy({ until: 'never' }), 'spec'],
  ];
  const kind = { group: 'tenancy.stonegate.dev', resource: 'crosstenantpolicies', namespace: '' };
  for (const [object, field] of cases) {
    const { allowed, status } = await verdictOn(admissionRequest({ ...kind, object }), {
      policyProblem,
      holds: () => true,
    });
    t.match(
      { allowed, status },
      { allowed: false, status: { code: 403, details: { causes: [{ field }] } } },
      field,
    );
    t.equal(status?.message.split(field).length, 2, `${status?.message}`);
  }
  t.equal(policyProblem(policy(), 'acme'), undefined);
  t.type(policyProblem({ ...policy(), apiVersion: 'tenancy.stonegate.dev/v2' }, 'acme'), 'string');
  t.type(policyProblem(policy(), 'system'), 'string');
});

t.test(
  'what the operator has made grantable may be granted; if it is not known, that is no reason',
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
