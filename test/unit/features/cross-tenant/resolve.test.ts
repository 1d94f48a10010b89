import t from 'tap';
import { parse } from 'yaml';
import {
  administration,
  crossTenantPolicy,
  HOUR,
  NOW,
  POD_READER,
  policyFacts,
  resolvedPolicies,
} from '../../../support/policies.ts';
import { rule } from '../../../support/policy-rule.ts';
import { eachRow } from '../../../support/rows.ts';

type Spec<T extends (...given: never[]) => { readonly spec: unknown }> = ReturnType<T>['spec'];

/** The status of one CrossTenantPolicy of globex, and how many policies are in force. */
function statusOf(
  spec: Readonly<Record<string, unknown>>,
  metadata: Parameters<typeof crossTenantPolicy>[1] = {},
  facts: Parameters<typeof policyFacts>[0] = {},
) {
  const policy = crossTenantPolicy(spec, metadata);
  const { policies, statuses } = resolvedPolicies({
    facts: policyFacts({ crossTenantPolicies: [policy], ...facts }),
  });
  return { count: policies.length, ...statuses[0] };
}

function administrationStatus(
  spec: Partial<Spec<typeof administration>>,
  facts: Parameters<typeof policyFacts>[0] = {},
  settings: Parameters<typeof resolvedPolicies>[1] = {},
) {
  const { policies, statuses } = resolvedPolicies(
    { facts: policyFacts({ administrations: [administration(spec)], ...facts }) },
    settings,
  );
  return { count: policies.length, tenants: [...(policies[0]?.tenants ?? [])], ...statuses[0] };
}

const REFUSED = (reason: string, message: RegExp | string) => ({ count: 0, ready: false, reason, message });

t.test('an invalid policy grants nothing, and its status says why', async (t) => {
  const pods = "{verbs: [get, list, watch], apiGroups: [''], resources: [pods]";
  await eachRow(
    `
    {subjects: []} | spec.subjects is empty
    {namespaces: ['*', web]} | spec.namespaces has other names besides *
    {namespaces: ['web*']} | spec.namespaces[0] is no DNS-1123 label
    {subjects: [{kind: User, tenant: globex, name: alice}]} | spec.subjects[0].tenant is this tenant
    {subjects: [{kind: User, tenant: '*', name: alice}]} | spec.subjects[0].tenant is not the name
    {subjects: [{kind: User, tenant: acme, name: 'system:admin'}]} | spec.subjects[0].name begins with system:
    {subjects: [{kind: User, tenant: acme, name: 'guest:initech:bob'}]} | spec.subjects[0].name begins with guest:
    {subjects: [{kind: User, tenant: acme, name: ' alice'}]} | spec.subjects[0].name
    {subjects: [{kind: Group, tenant: acme, name: '*'}]} | spec.subjects[0].name is *
    {subjects: [{kind: Group, tenant: acme, name: 'system:authenticated'}]} | spec.subjects[0].name begins with system:
    {subjects: [{kind: Group, tenant: acme, name: 'stonegate:guest'}]} | spec.subjects[0].name begins with stonegate:
    {subjects: [{kind: ServiceAccount, tenant: acme, name: x}]} | spec.subjects[0].kind:
    {except: [alice]} | spec: unknown field "except"
    {notAfter: never} | spec.notAfter is no time
    {rules: [{verbs: [get], resources: [pods]}]} | spec.rules[0].apiGroups: Invalid input
    {rules: [${pods}, resourceNames: []}]} | spec.rules[0].resourceNames is empty
    {rules: [{verbs: [get], apiGroups: [''], resources: [Pods]}]} | spec.rules[0].resources has a text
    {rules: [${pods}, nonResourceURLs: [/healthz]}]} | spec.rules[0]: unknown field "nonResourceURLs"`,
    (spec, message) => {
      const status = statusOf(parse(spec));
      t.match(status, REFUSED('Invalid', message), spec);
      t.ok(status.message?.startsWith(message), spec);
    },
  );
  const many = [
    [Array(101).fill(POD_READER), /^spec\.rules has more than 100 items/],
    [Array(100).fill({ ...POD_READER, verbs: Array(50).fill('get') }), /too many combinations/],
  ] as const;
  for (const [rules, message] of many) t.match(statusOf({ rules }), REFUSED('Invalid', message));
});

t.test('a rule beyond what policies may grant is refused, and the status names the rule', async (t) => {
  for (const { verbs, resources, ...groups } of [
    rule('get', 'nodes'),
    rule('impersonate', 'users'),
    rule('bind', 'roles', 'rbac.authorization.k8s.io'),
    rule('create', 'localsubjectaccessreviews', 'authorization.k8s.io'),
    rule('create', 'crosstenantpolicies', 'tenancy.stonegate.dev'),
  ]) {
    const beyond = { verbs: ['get', ...verbs], resources: ['pods', ...resources], ...groups };
    const message = /^spec\.rules\[1\]: \S+ \S+ is not among what policies may grant/;
    t.match(statusOf({ rules: [POD_READER, beyond] }), REFUSED('NotGrantable', message), resources.join());
  }
});

t.test('a rule for named objects is allowed if those names are grantable', async (t) => {
  const grantable = [{ ...rule('get', 'nodes'), resourceNames: ['n1', 'n2'] }];
  const ready = (resourceNames?: readonly string[]) => {
    const rules = [{ ...rule('get', 'nodes'), ...(resourceNames && { resourceNames }) }];
    const facts = policyFacts({ crossTenantPolicies: [crossTenantPolicy({ rules })] });
    return resolvedPolicies({ facts }, { grantable }).statuses[0]?.reason;
  };
  t.equal(ready(['n1']), 'Ready');
  t.equal(ready(['n1', 'n2']), 'Ready');
  t.equal(ready(['n1', 'n3']), 'NotGrantable');
  t.equal(ready(), 'NotGrantable');
});

t.test('a policy counts only if the webhook checked it when it was created', async (t) => {
  const since = Date.UTC(2026, 5, 1, 12);
  const at = (creationTimestamp: string | null) =>
    statusOf({}, { creationTimestamp }, { webhook: { registered: true, since } });
  t.match(at('2026-06-01T12:00:01Z'), { count: 1, reason: 'Ready' });
  for (const created of ['2026-06-01T12:00:00Z', null, 'x'])
    t.match(at(created), REFUSED('AdmissionRequired', /older than the registration/), String(created));
  t.match(
    statusOf({}, {}, { webhook: { registered: false } }),
    REFUSED('AdmissionRequired', /is not registered/),
  );
});

t.test('no policy lets users into the system tenant, and names must be labels', async (t) => {
  for (const tenant of ['system', 'all'])
    t.match(statusOf({}, { tenant }), REFUSED('Invalid', /lets users into this tenant/), tenant);
  for (const name of ['a.b', 'x'.repeat(64)])
    t.match(statusOf({}, { name }), REFUSED('Invalid', /^metadata\.name /), name);
});

t.test('D336 a policy that has ended says so, and the next end of a policy is known', async (t) => {
  t.match(
    statusOf({ notAfter: new Date(NOW).toISOString() }),
    REFUSED('Ended', /^it ended at 2026-07-01T00:00:00\.000Z/),
  );
  const notAfter = new Date(NOW + HOUR).toISOString();
  const facts = policyFacts({
    crossTenantPolicies: [crossTenantPolicy({ notAfter })],
    administrations: [administration({ notAfter: new Date(NOW + 2 * HOUR).toISOString() })],
  });
  t.equal(resolvedPolicies({ facts }).nextEnd, NOW + HOUR);
  t.equal(resolvedPolicies({ facts }, {}, NOW + HOUR).nextEnd, NOW + 2 * HOUR);
  t.equal(resolvedPolicies({ facts }, {}, NOW + 2 * HOUR).nextEnd, undefined);
  t.match(
    administrationStatus({}, {}, { administrationsMustEnd: true }),
    REFUSED('Invalid', /^spec\.notAfter is required here/),
  );
});

t.test('an object that is being deleted grants nothing', async (t) => {
  t.same(statusOf({}, { deletionTimestamp: '2026-06-30T00:00:00Z' }), { count: 0 });
});

t.test('a tenant has at most a hundred policies', async (t) => {
  const names = Array.from({ length: 101 }, (_, at) => `p${String(at).padStart(3, '0')}`).reverse();
  const crossTenantPolicies = [
    ...names.map((name) => crossTenantPolicy({}, { name })),
    crossTenantPolicy({}, { name: 'z', tenant: 'initech' }),
  ];
  const { policies, statuses } = resolvedPolicies({ facts: policyFacts({ crossTenantPolicies }) });
  t.equal(policies.length, 101);
  t.match(
    statuses.filter(({ ready }) => !ready),
    [{ name: 'p100', message: /more than 100 policies/ }],
  );
});

t.test('D331 an administration follows the labels of tenants', async (t) => {
  const selection = { tenants: { matchLabels: { region: 'eu' } } };
  const facts = (labels: Readonly<Record<string, string>>) => ({
    tenants: [
      { name: 'globex', labels },
      { name: 'acme', labels: { region: 'us' } },
      { name: 'system', labels: { region: 'eu' } },
    ],
  });
  t.same(administrationStatus(selection, facts({ region: 'eu' })).tenants, ['globex']);
  t.match(administrationStatus(selection, facts({})), { tenants: { length: 0 }, ready: true });
});

t.test(
  'D333 a tenant that no longer matches the labels cannot be entered, even if it is still named',
  async (t) => {
    const tenants = { names: ['globex', 'initech'], matchLabels: { region: 'eu' } };
    const facts = {
      tenants: [
        { name: 'globex', labels: {} },
        { name: 'initech', labels: { region: 'eu' } },
      ],
    };
    t.same(administrationStatus({ tenants }, facts).tenants, ['initech']);
  },
);

t.test('all conditions of a selection must hold; a selection without conditions is refused', async (t) => {
  const eu = { region: 'eu' };
  const facts = { tenants: ['acme', 'globex', 'initech'].map((name) => ({ name, labels: eu })) };
  const selected = (tenants: Spec<typeof administration>['tenants']) =>
    administrationStatus({ tenants }, facts).tenants.sort();
  t.same(selected({ names: ['*'] }), ['acme', 'globex', 'initech']);
  t.same(selected({ domains: ['Partner', 'Default', 'No tenant'] }), ['acme', 'globex']);
  t.same(selected({ names: ['globex', 'nosuch'], matchLabels: eu, domains: ['Partner'] }), ['globex']);
  t.same(selected({ names: ['acme'], domains: ['Partner'] }), []);
  t.same(selected({ domains: ['No tenant'] }), []);
  t.same(selected({ matchLabels: { constructor: 'x' } }), []);
  for (const tenants of [{}, { names: [] }, { matchLabels: {} }])
    t.match(
      administrationStatus({ tenants }, facts),
      REFUSED('Invalid', /^spec\.tenants/),
      JSON.stringify(tenants),
    );
});

t.test('administrators enter neither the system tenant nor their own', async (t) => {
  t.same(administrationStatus({ tenants: { names: ['*'] } }).tenants, ['acme', 'globex', 'initech']);
  t.same(administrationStatus({ domain: 'Partner', tenants: { names: ['*'] } }).tenants, ['acme', 'initech']);
  for (const name of ['system', 'a*'])
    t.match(
      administrationStatus({ tenants: { names: [name] } }),
      REFUSED('Invalid', /no tenant that users may enter/),
    );
  t.match(
    administrationStatus({ domain: 'Partner', tenants: { names: ['globex'] } }),
    REFUSED('Invalid', /is the tenant of the groups/),
  );
  t.match(
    administrationStatus({ domain: 'No tenant' }),
    REFUSED('Invalid', /^spec\.domain is no Keystone domain/),
  );
});

t.test('an invalid administration grants nothing, and its status says why', async (t) => {
  const clusterRoles = new Map([
    ['cluster-admin', [rule('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]],
    ['node-reader', [rule('get', 'nodes')]],
    ['stonegate:policy:tenant:devs', [POD_READER]],
    ['stonegate:basic-user', [POD_READER]],
  ]);
  await eachRow(
    `
    {groups: []} | Invalid | spec.groups is empty
    {groups: ['system:masters']} | Invalid | spec.groups[0] begins with system:
    {reason: ''} | Invalid | spec.reason
    {tenants: {names: ['*', acme]}} | Invalid | spec.tenants.names has other names
    {clusterRole: nosuch} | Invalid | spec.clusterRole is no ClusterRole of the system tenant
    {clusterRole: 'stonegate:policy:tenant:devs'} | Invalid | spec.clusterRole is none of stonegate:read
    {clusterRole: 'stonegate:basic-user'} | Invalid | spec.clusterRole stonegate:basic-user grants nothing to guests
    {clusterRole: cluster-admin} | Invalid | rules of the ClusterRole cluster-admin: rules[0].verbs has *
    {clusterRole: node-reader} | NotGrantable | rules of the ClusterRole node-reader: rules[0]: get nodes is not among`,
    (spec, reason, message) => {
      const status = administrationStatus(parse(spec), { clusterRoles });
      t.match(status, REFUSED(reason, message), spec);
      t.ok(status.message?.startsWith(message), spec);
    },
  );
});

t.test('the role of an administration is Stonegate’s own, or else one of the system tenant', async (t) => {
  const clusterRoles = new Map([
    ['stonegate:read', [{ ...POD_READER, resources: ['secrets'] }]],
    ['pod-reader', [POD_READER]],
  ]);
  const rulesOf = (clusterRole: string) => {
    const administrations = [administration({ clusterRole })];
    const { policies } = resolvedPolicies({ facts: policyFacts({ administrations, clusterRoles }) });
    return policies[0]?.rules ?? [];
  };
  t.same(rulesOf('pod-reader'), [POD_READER]);
  const read = rulesOf('stonegate:read').flatMap(({ resources = [] }) => resources);
  t.ok(read.includes('configmaps'));
  t.notOk(read.includes('secrets'));
  const manage = JSON.stringify(rulesOf('stonegate:manage'));
  t.notMatch(manage, '"bind"', 'no right to bind');
  t.notMatch(manage, '"authorization.k8s.io"', 'no reviews');
});

const CONFIGURED = {
  name: 'support',
  groups: ['keystone:group:ops'],
  tenants: { names: ['initech'] },
  clusterRole: 'stonegate:read',
  reason: 'operations',
};

t.test(
  'the configuration takes precedence over an object of the same name, even after it has ended',
  async (t) => {
    const facts = policyFacts({ administrations: [administration(), administration({}, 'other')] });
    for (const notAfter of [NOW + HOUR, NOW - HOUR]) {
      const { policies, statuses } = resolvedPolicies({
        facts,
        administrations: [{ ...CONFIGURED, notAfter: new Date(notAfter).toISOString() }],
      });
      t.match(statuses, [
        { name: 'support', object: undefined, ready: notAfter > NOW },
        { name: 'support', object: { kind: 'TenantAdministration' }, ready: false, message: /has this name/ },
        { name: 'other', object: { kind: 'TenantAdministration' }, ready: true },
      ]);
      t.notOk(policies.some(({ source }) => source === 'tenantadministrations/support'));
    }
  },
);

t.test('an administration outside the system tenant does not count', async (t) => {
  const { metadata, ...rest } = administration();
  const administrations = [{ ...rest, metadata: { ...metadata, tenant: 'initech' } }];
  const { policies, statuses } = resolvedPolicies({ facts: policyFacts({ administrations }) });
  t.same([policies, statuses], [[], []]);
});

t.test(
  'the policies of one tenant may name a thousand namespaces, each of which costs a binding',
  async (t) => {
    const namespaces = Array.from({ length: 100 }, (_, at) => `n${at}`);
    const policyOf = (at: number, tenant = 'globex') =>
      crossTenantPolicy({ namespaces }, { name: `p${at}`, tenant });
    const crossTenantPolicies = [
      ...Array.from({ length: 11 }, (_, at) => policyOf(at)),
      policyOf(0, 'initech'),
    ];
    const { policies, statuses } = resolvedPolicies({ facts: policyFacts({ crossTenantPolicies }) });
    t.equal(policies.length, 11);
    t.match(
      statuses.filter(({ ready }) => !ready),
      [{ name: 'p9', object: { metadata: { tenant: 'globex' } }, message: /more than 1000 namespaces/ }],
    );
  },
);
