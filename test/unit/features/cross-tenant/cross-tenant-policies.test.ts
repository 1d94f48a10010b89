import t from 'tap';
import { parse } from 'yaml';
import { createPolicyProblem } from '../../../../src/features/cross-tenant/cross-tenant-policies.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { rule } from '../../../support/policy-rule.ts';
import { eachRow } from '../../../support/rows.ts';

const clock = createFakeClock(Date.parse('2026-06-01T00:00:00Z'));
const options = { systemTenant: 'system', clock };

function policy(spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'CrossTenantPolicy',
    metadata: { name: 'p', tenant: 'acme', ...metadata },
    spec: {
      ...parse('{subjects: [{kind: User, tenant: globex, name: gina}], namespaces: [web]}'),
      ...{ rules: [rule('get', 'pods')], ...spec },
    },
  };
}

t.test(
  'a policy that would grant nothing is refused when it is written, and the message names the field',
  async (t) => {
    const policyProblem = createPolicyProblem({ ...options, grantable: [] });
    await eachRow(
      `
      {} | {name: a.b} | metadata.name
      {subjects: [{kind: User, tenant: acme, name: x}]} | {} | spec.subjects[0].tenant
      {rules: [{verbs: [get], apiGroups: [''], resources: [nodes]}]} | {} | spec.rules[0]
      {notAfter: !!str 2026-05-31T00:00:00Z} | {} | it ended
      {until: never} | {} | spec`,
      (spec, metadata, field) =>
        t.ok(policyProblem(policy(parse(spec), parse(metadata)), 'acme')?.startsWith(field), field),
    );
    t.equal(policyProblem(policy(), 'acme'), undefined);
    t.type(policyProblem({ ...policy(), apiVersion: 'tenancy.stonegate.dev/v2' }, 'acme'), 'string');
    t.type(policyProblem(policy(), 'system'), 'string');
  },
);

t.test(
  'rights that the operator has made grantable may be granted; while they are unknown, none is refused',
  async (t) => {
    const gadgets = rule('get', 'gadgets', 'example.com');
    const problem = (grantable: (typeof gadgets)[] | undefined) =>
      createPolicyProblem({ ...options, grantable })(policy({ rules: [gadgets] }), 'acme');
    t.match(problem([]), /not among what policies may grant/);
    t.equal(problem([gadgets]), undefined);
    t.equal(problem(undefined), undefined);
  },
);
