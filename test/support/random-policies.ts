/** Random policies of all forms and requests of guests, with so few names that they match. */
import fc from 'fast-check';
import type { AdministrationConfiguration } from '../../src/features/cross-tenant/authorization-configuration.ts';
import type { PolicyFacts } from '../../src/features/cross-tenant/policy.ts';
import type {
  CrossTenantPolicy,
  CrossTenantRule,
  TenantAdministration,
} from '../../src/features/cross-tenant/tenancy-v1alpha1.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { Entry, PolicyAttributes } from '../../src/proxy/tenant-entry.ts';
import { CLUSTER_ROLES } from '../../src/rbac/cluster-roles.ts';
import {
  abacLine,
  administration,
  attributes,
  crossTenantPolicy,
  entry,
  HOUR,
  NOW,
  POD_READER,
  policyFacts,
  readAbacFile,
} from './policies.ts';

const TENANTS = ['acme', 'globex', 'initech', 'system'];
/** Names of tenants that an attacker may try. */
const ODD_TENANTS = ['all', '*', 'Acme', 'a:b', ''];
const USERS = ['alice', 'bob', '*'];
const ODD_USERS = ['system:admin', 'guest:acme:bob', ''];
const GROUPS = ['devs', 'ops'];
const ODD_GROUPS = ['system:masters', 'stonegate:guest', '*'];
const NAMESPACES = ['a', 'b'];
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const ODD_VERBS = ['bind', 'escalate', 'impersonate', '*', 'use'];
const RESOURCES: readonly (readonly [group: string, full: string])[] = [
  ...['pods', 'pods/log', 'pods/exec', 'pods/status', 'pods/proxy', 'pods/ephemeralcontainers'],
  ...['secrets', 'configmaps', 'namespaces', 'nodes', 'serviceaccounts/token', 'widgets'],
]
  .map((full): readonly [string, string] => ['', full])
  .concat([
    ['apps', 'deployments'],
    ['apps', 'deployments/scale'],
    ['rbac.authorization.k8s.io', 'roles'],
    ['rbac.authorization.k8s.io', 'rolebindings'],
    ['rbac.authorization.k8s.io', 'clusterroles'],
    ['authorization.k8s.io', 'localsubjectaccessreviews'],
    ['tenancy.stonegate.dev', 'crosstenantpolicies'],
    ['example.com', 'widgets'],
    ['example.com', 'secrets'],
  ]);
const API_GROUPS = [...new Set(RESOURCES.map(([group]) => group))];
const FULL_NAMES = [...new Set(RESOURCES.map(([, full]) => full))];

/** Mostly one of `usual`; one in ten is from `odd`. */
function mostly<T>(usual: readonly T[], odd: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...usual), weight: 9 },
    { arbitrary: fc.constantFrom(...odd), weight: 1 },
  );
}

function some<T>(value: fc.Arbitrary<T>, maxLength = 3): fc.Arbitrary<T[]> {
  return fc.array(value, { minLength: 1, maxLength });
}

const tenant = mostly(TENANTS, ODD_TENANTS);
const policyName = fc.constantFrom('p1', 'p2', 'p3', 'p4', 'p5');
const end = fc.constantFrom(...[NOW - 1, NOW, NOW + HOUR].map((at) => new Date(at).toISOString()));

/** Values of `access.grantable`. */
export const grantable: fc.Arbitrary<readonly PolicyRule[]> = fc.constantFrom<readonly PolicyRule[]>(
  [],
  [{ apiGroups: ['example.com'], resources: ['widgets', 'secrets'], verbs: ['get', 'list', 'use'] }],
  [{ apiGroups: [''], resources: ['nodes'], resourceNames: ['x'], verbs: ['get'] }],
  [
    { apiGroups: ['tenancy.stonegate.dev'], resources: ['crosstenantpolicies'], verbs: VERBS },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ],
);

const rule: fc.Arbitrary<CrossTenantRule> = fc
  .tuple(
    some(mostly(VERBS, ODD_VERBS)),
    fc.constantFrom(...RESOURCES),
    fc.option(some(fc.constantFrom('x', 'y')), { nil: undefined }),
    fc.integer({ min: 0, max: 19 }),
  )
  .map(([verbs, [group, full], resourceNames, odd]) => ({
    verbs,
    apiGroups: odd === 0 ? ['*'] : [group],
    resources: odd === 1 ? ['*'] : [full],
    ...(resourceNames && { resourceNames }),
    ...(odd === 2 && { nonResourceURLs: ['/x'] }),
  }));

const places = fc.oneof(fc.constant(['*']), some(fc.constantFrom(...NAMESPACES), 2));

/** Lines of the policy file, without those that are refused. */
export function abacFile(granted: readonly PolicyRule[]) {
  const spec = fc.record(
    {
      name: policyName,
      tenant,
      space: tenant,
      user: mostly(USERS, ODD_USERS),
      group: mostly(GROUPS, ODD_GROUPS),
      namespace: fc.constantFrom('*', ...NAMESPACES),
      apiGroup: fc.constantFrom('*', ...API_GROUPS),
      resource: fc.constantFrom('*', ...FULL_NAMES),
      readonly: fc.boolean(),
    },
    { requiredKeys: ['name', 'tenant', 'space', 'namespace', 'apiGroup', 'resource', 'readonly'] },
  );
  return fc
    .uniqueArray(spec, { maxLength: 4, selector: ({ name }) => name })
    .map((specs) => specs.flatMap((one) => readAbacFile(abacLine(one), granted).policies));
}

const crossTenant: fc.Arbitrary<CrossTenantPolicy> = fc
  .record(
    {
      name: policyName,
      tenant,
      subjects: some(
        fc.oneof(
          fc.record({ kind: fc.constant('User' as const), tenant, name: mostly(USERS, ODD_USERS) }),
          fc.record({ kind: fc.constant('Group' as const), tenant, name: mostly(GROUPS, ODD_GROUPS) }),
        ),
      ),
      namespaces: places,
      rules: some(rule, 2),
      notAfter: end,
    },
    { requiredKeys: ['name', 'tenant', 'subjects', 'namespaces', 'rules'] },
  )
  .map(({ name, tenant: of, ...spec }) => crossTenantPolicy(spec, { name, tenant: of }));

const administrationFields = fc.record(
  {
    name: policyName,
    groups: some(mostly(GROUPS, ODD_GROUPS), 2),
    domain: fc.constantFrom('Default', 'Partner', 'No tenant'),
    tenants: fc.constantFrom(
      { names: ['*'] },
      { names: ['globex', 'acme'] },
      { names: ['system'] },
      { matchLabels: { region: 'eu' } },
      { domains: ['Partner'] },
      {},
    ),
    clusterRole: fc.constantFrom(...CLUSTER_ROLES.keys(), 'of-system', 'everything', 'nosuch'),
    notAfter: end,
  },
  { requiredKeys: ['name', 'groups', 'tenants', 'clusterRole'] },
);

export const configuredAdministrations: fc.Arbitrary<AdministrationConfiguration[]> = fc.uniqueArray(
  administrationFields.map((fields) => ({ ...fields, reason: 'r' })),
  { maxLength: 2, selector: ({ name }) => name },
);

const administrationObject: fc.Arbitrary<TenantAdministration> = administrationFields.map(
  ({ name, ...spec }) => administration(spec, name),
);

export const facts: fc.Arbitrary<PolicyFacts> = fc
  .record({
    crossTenantPolicies: fc.uniqueArray(crossTenant, {
      maxLength: 4,
      selector: ({ metadata }) => `${metadata.tenant}/${metadata.name}`,
    }),
    administrations: fc.uniqueArray(administrationObject, {
      maxLength: 3,
      selector: ({ metadata }) => metadata.name,
    }),
    europeans: fc.subarray(TENANTS),
    ofSystem: some(rule, 2),
    registered: fc.constantFrom(true, true, true, false),
  })
  .map(({ crossTenantPolicies, administrations, europeans, ofSystem, registered }) =>
    policyFacts({
      crossTenantPolicies,
      administrations,
      tenants: [...TENANTS, ...ODD_TENANTS].map((name) => ({
        name,
        labels: { region: europeans.includes(name) ? 'eu' : 'us' },
      })),
      clusterRoles: new Map([
        ['of-system', ofSystem],
        ['everything', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]],
      ]),
      webhook: registered ? { registered, since: Date.UTC(2026, 0, 1) } : { registered },
    }),
  );

export const entries: fc.Arbitrary<Entry> = fc
  .record({
    home: fc.constantFrom(...TENANTS, 'acme', 'acme'),
    tenant: fc.constantFrom(...TENANTS, 'globex', 'globex'),
    name: fc.constantFrom('alice', 'bob', 'carol'),
    groups: fc.subarray([...GROUPS, 'system:authenticated']),
  })
  .map(({ name, ...rest }) => entry(name, rest));

export const requests: fc.Arbitrary<PolicyAttributes> = fc
  .record({
    verb: mostly(VERBS, ['bind', 'escalate', 'impersonate', 'use', 'proxy']),
    resource: fc.constantFrom(...RESOURCES),
    namespace: fc.constantFrom('', ...NAMESPACES, 'c'),
    name: fc.constantFrom('', 'x', 'y', 'z'),
  })
  .map(({ verb, resource: [apiGroup, full], ...place }) => attributes(verb, full, { apiGroup, ...place }));

/** A spec as a tenant may store it if no schema is enforced. */
export const anySpec: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({ withNullPrototype: true, maxDepth: 3 }),
  fc.record({
    subjects: fc.anything({ maxDepth: 2 }),
    namespaces: fc.anything({ maxDepth: 2 }),
    rules: fc.oneof(fc.constant([POD_READER]), fc.anything({ maxDepth: 3 })),
  }),
);
