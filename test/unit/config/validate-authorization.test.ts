import t from 'tap';
import { parse } from 'yaml';
import { problemsOfSections } from '../../support/configuration-problems.ts';
import { rows } from '../../support/rows.ts';

const CREDENTIAL = 'bindings: { credential: { tokenFile: provisioner } }';

function problemsOf(authorization: string, { mode = 'arktos', more = CREDENTIAL } = {}) {
  const tenancy = `{ mode: ${mode}, domains: { Partner: partners, Default: system } }`;
  return problemsOfSections({ tenancy, authorization }, more);
}

const USES = [
  'abacPolicyFile: policies.jsonl',
  'crossTenantPolicies: true',
  'tenantAdministrations: true',
  'administrations: [{ name: a, groups: [g], tenants: { names: ["*"] }, clusterRole: view, reason: r }]',
];

const SUPPORT = parse(`
  name: support
  groups: ['keystone:group:abc']
  tenants: {names: ['*']}
  clusterRole: stonegate:edit
  reason: support contract`);

/** The problems of an administration with these fields added or replaced. */
function administrationProblems(fields: Readonly<Record<string, unknown>>, authorization = {}) {
  const administrations = [{ ...SUPPORT, ...fields }];
  return problemsOf(JSON.stringify({ administrations, ...authorization })).map((problem) =>
    problem.replace(/^authorization\.administrations\[0\](?: \(line \d+\): |\.)/, ''),
  );
}

t.test('policies require a credential that writes the roles of guests', async (t) => {
  for (const use of USES) {
    t.same(problemsOf(`{ ${use} }`), [], use);
    t.match(
      problemsOf(`{ ${use} }`, { more: '' }),
      [/^bindings\.credential: is required with authorization\./],
      use,
    );
  }
  t.same(problemsOf('{ administrationsMustEnd: true }', { more: '' }), []);
});

t.test('policies are refused in shared mode', async (t) => {
  const all = problemsOf(`{ ${USES.join(', ')} }`, { mode: 'shared' });
  t.equal(all.length, 4);
  for (const problem of all) t.match(problem, /^authorization\.\w+ \(line 7\): has no effect in shared mode/);
});

/** Fields of an administration, as YAML, and how the problem begins. */
const ADMINISTRATIONS = rows(String.raw`
{ tenants: {} } | tenants selects nothing
{ tenants: { names: [] } } | tenants\.names is empty
{ tenants: { domains: [] } } | tenants\.domains is empty
{ tenants: { matchLabels: {} } } | tenants\.matchLabels is empty
{ tenants: { names: ["*", "acme"] } } | tenants\.names has other names besides \*
{ tenants: { names: ["acme", "system"] } } | tenants\.names\[1\] is no tenant that
{ tenants: { names: ["all"] } } | tenants\.names\[0\] is no tenant that
{ tenants: { names: ["acme*"] } } | tenants\.names\[0\] is no tenant that
{ domain: "Partner", tenants: { names: ["partners"] } } | tenants\.names\[0\] is the tenant of the groups
{ domain: "No tenant" } | domain is no Keystone domain that has a tenant
{ domain: "partners" } | domain is no Keystone domain that has a tenant
{ domain: "system" } | domain is no Keystone domain that has a tenant
{ groups: [] } | groups .*expected a list that is not empty
{ groups: ["system:masters"] } | groups\[0\] begins with system:
{ groups: ["stonegate:guest"] } | groups\[0\] begins with stonegate:
{ groups: ["*"] } | groups\[0\] is \*
{ clusterRole: "stonegate:policy:abac:x" } | clusterRole is none of stonegate:read,
{ clusterRole: "stonegate:basic-user" } | clusterRole .*grants nothing to guests
{ reason: "" } | reason .
{ name: "A" } | name .
{ notAfter: "tomorrow" } | notAfter .*RFC 3339`);

t.test('an administration is checked when the configuration is loaded', async (t) => {
  t.same(
    administrationProblems({ tenants: { names: ['acme'], domains: ['x'], matchLabels: { a: 'b' } } }),
    [],
  );
  for (const [fields, problem] of ADMINISTRATIONS)
    t.match(administrationProblems(parse(fields)), [new RegExp(`^${problem}`)], fields);
});

t.test('names of administrations are unique', async (t) => {
  t.match(problemsOf(JSON.stringify({ administrations: [SUPPORT, SUPPORT] })), [
    /^authorization\.administrations\[1\]\.name .*expected each name once, found support again/,
  ]);
});

t.test(
  'D336 an administration without an end is refused if each must end; one in the past loads',
  async (t) => {
    const mustEnd = { administrationsMustEnd: true };
    t.match(administrationProblems({}, mustEnd), [
      /^notAfter is required here \(authorization\.administrationsMustEnd\)/,
    ]);
    t.same(administrationProblems({ notAfter: '2020-01-01T00:00:00Z' }, mustEnd), []);
  },
);

t.test(
  'access.grantable needs explicit rules, and refuses rights that would allow more than they say',
  async (t) => {
    const grantable = (rule: string) =>
      problemsOf('{}', { more: `access: { grantable: [${rule}] }` }).map((problem) => problem.split(' ')[0]);
    t.same(grantable('{ apiGroups: [""], resources: [nodes, pods/log], verbs: [get] }'), []);
    for (const verb of ['*', 'bind', 'escalate', 'impersonate', 'GET', ''])
      t.same(grantable(`{ apiGroups: [""], resources: [pods], verbs: ["${verb}"] }`), [
        'access.grantable[0].verbs[0]',
      ]);
    for (const resource of ['*', '*/scale', 'pods/*'])
      t.same(grantable(`{ apiGroups: [""], resources: ["${resource}"], verbs: [get] }`), [
        'access.grantable[0].resources[0]',
      ]);
    t.same(grantable('{ apiGroups: ["*"], resources: [pods], verbs: [get] }'), [
      'access.grantable[0].apiGroups[0]',
    ]);
    t.same(grantable('{ apiGroups: [""], resources: [pods], resourceNames: ["*"], verbs: [get] }'), [
      'access.grantable[0].resourceNames[0]',
    ]);
  },
);
