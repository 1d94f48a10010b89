/**
 * Random roles, bindings and access questions, with so few names that rules and questions match: every
 * feature of RBAC rules and subjects that the API server stores.
 */
import fc, { type Arbitrary } from 'fast-check';
import type { Question } from '../../../src/kubernetes/authorizer-attributes.ts';
import type { RBACUser } from '../../../src/rbac/attributes.ts';

export const NAMESPACES = ['n1', 'n2', 'n3', 'n4'] as const;
const NAMES = ['a', 'b', 'n1', 'n2', ''] as const;
const USERS = ['alice', 'bob', 'zoë "z" \\', 'tab\there', 'system:serviceaccount:n1:a', 'n1'] as const;
const ACCOUNTS = ['a', 'b'] as const;
const GROUPS = ['staff', 'dévs', 'system:authenticated', 'system:serviceaccounts:n1'] as const;
const VERBS = ['get', 'list', 'watch', 'create', 'delete', 'deletecollection'] as const;
const API_GROUPS = ['', 'apps', 'rbac.authorization.k8s.io'] as const;
const RESOURCES = ['pods', 'namespaces', 'deployments', 'secrets'] as const;
const SUBRESOURCES = ['log', 'scale', 'status', 'finalize'] as const;
const PATHS = ['/healthz', '/healthz/etcd', '/apis', '/apis/apps', '/metrics', '/'] as const;
const ROLES = ['r1', 'r2', 'r3', 'rôle "q"'] as const;
const CLUSTER_ROLES = ['c1', 'c2', 'c3', 'c4', 'sum', 'other-sum'] as const;
const MISSING = ['missing', 'missing "too"'] as const;
/** Cluster roles with one of these labels are part of the aggregated role. */
export const AGGREGATED: ReadonlyMap<string, object> = new Map([
  ['sum', { matchLabels: { 'test/sum': 'yes' } }],
  ['other-sum', { matchExpressions: [{ key: 'test/other', operator: 'Exists' }] }],
]);

function some<T>(values: readonly T[], most = 2): Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: most });
}

const verbs = some([...VERBS, '*'], 3);
const resourceRule = fc.record(
  {
    verbs,
    apiGroups: some([...API_GROUPS, '*']),
    resources: some([
      ...RESOURCES,
      ...RESOURCES.map((resource) => `${resource}/log`),
      ...['pods/*', '*/scale', '*/log', '*', 'deployments/scale', 'namespaces/finalize'],
    ]),
    resourceNames: some(NAMES),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
);
const pathRule = fc.record({ verbs, nonResourceURLs: some([...PATHS, '/apis/*', '*', '/health**', '/*']) });
const resourceRules = fc.array(resourceRule, { maxLength: 3 });
const rules = fc.array(fc.oneof({ weight: 3, arbitrary: resourceRule }, pathRule), { maxLength: 3 });

const named = (kind: string, names: readonly string[]) =>
  fc.record({
    kind: fc.constant(kind),
    name: fc.constantFrom(...names),
    apiGroup: fc.constant('rbac.authorization.k8s.io'),
  });
const account = fc.record({
  kind: fc.constant('ServiceAccount'),
  name: fc.constantFrom(...ACCOUNTS),
  namespace: fc.constantFrom('n1', 'n2', 'gone'),
});
const localAccount = fc.record({ kind: fc.constant('ServiceAccount'), name: fc.constantFrom(...ACCOUNTS) });
const namedUser = fc.oneof(named('User', USERS), named('Group', GROUPS));

const roleRef = (kind: string, names: readonly string[]) =>
  fc.record({
    apiGroup: fc.constant('rbac.authorization.k8s.io'),
    kind: fc.constant(kind),
    name: fc.constantFrom(...names, ...MISSING),
  });

/** An object to create, and the collection that it goes to. */
export interface RandomObject {
  readonly path: string;
  readonly object: {
    readonly metadata: { readonly name: string; readonly labels?: object };
    readonly [field: string]: unknown;
  };
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
export const collection = (namespace: string, resource: string) =>
  namespace === '' ? `${RBAC}/${resource}` : `${RBAC}/namespaces/${namespace}/${resource}`;

const label = fc.constantFrom({}, {}, { 'test/sum': 'yes' }, { 'test/sum': 'no' }, { 'test/other': '' });

function clusterRoles(): Arbitrary<RandomObject[]> {
  const plain = CLUSTER_ROLES.filter((name) => !AGGREGATED.has(name)).map((name) =>
    fc.record({ rules, labels: label }).map(({ rules, labels }) => ({
      path: collection('', 'clusterroles'),
      object: { metadata: { name, labels }, rules },
    })),
  );
  const aggregated = [...AGGREGATED].map(([name, selector]) =>
    fc.constant({
      path: collection('', 'clusterroles'),
      object: { metadata: { name }, aggregationRule: { clusterRoleSelectors: [selector] } },
    }),
  );
  return fc.tuple(...plain, ...aggregated);
}

function roles(): Arbitrary<RandomObject[]> {
  const each = NAMESPACES.flatMap((namespace) =>
    ROLES.map((name) =>
      resourceRules.map((rules) => ({
        path: collection(namespace, 'roles'),
        object: { metadata: { name }, rules },
      })),
    ),
  );
  return fc.tuple(...each).chain((all) => fc.subarray(all, { minLength: all.length - 3 }));
}

function bindings(round: number): Arbitrary<RandomObject[]> {
  const clusterRoleBinding = fc.record({
    namespace: fc.constant(''),
    resource: fc.constant('clusterrolebindings'),
    roleRef: roleRef('ClusterRole', CLUSTER_ROLES),
    subjects: fc.array(fc.oneof(namedUser, account), { maxLength: 4 }),
  });
  const roleBinding = fc.record({
    namespace: fc.constantFrom(...NAMESPACES),
    resource: fc.constant('rolebindings'),
    roleRef: fc.oneof(roleRef('ClusterRole', CLUSTER_ROLES), roleRef('Role', ROLES)),
    subjects: fc.array(fc.oneof(namedUser, account, localAccount), { maxLength: 3 }),
  });
  return fc
    .tuple(
      fc.array(clusterRoleBinding, { minLength: 10, maxLength: 14 }),
      fc.array(roleBinding, { minLength: 60, maxLength: 80 }),
    )
    .map((all) =>
      all.flat().map(({ namespace, resource, ...object }, at) => ({
        path: collection(namespace, resource),
        object: { metadata: { name: `b${round}-${at} "x"` }, ...object },
      })),
    );
}

/** @param round the prefix of the names of bindings, so that those of several rounds differ */
export function randomObjects(round: number): Arbitrary<{ roles: RandomObject[]; bindings: RandomObject[] }> {
  return fc
    .tuple(clusterRoles(), roles(), bindings(round))
    .map(([cluster, local, bindings]) => ({ roles: [...cluster, ...local], bindings }));
}

const accountName = fc
  .tuple(fc.constantFrom('n1', 'n2'), fc.constantFrom(...ACCOUNTS))
  .map(([namespace, name]) => `system:serviceaccount:${namespace}:${name}`);

/** No binding names this user. */
export const UNBOUND: RBACUser = { tenant: '', username: 'unbound', groups: [] };

const boundUser: Arbitrary<RBACUser> = fc.record({
  tenant: fc.constant(''),
  username: fc.oneof(fc.constantFrom(...USERS), accountName),
  groups: fc.oneof(
    { weight: 30, arbitrary: fc.uniqueArray(fc.constantFrom(...GROUPS), { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant(['system:masters']) },
  ),
});

export const randomUser: Arbitrary<RBACUser> = fc.oneof(
  { weight: 9, arbitrary: boundUser },
  { weight: 1, arbitrary: fc.constant(UNBOUND) },
);

const resourceQuestion: Arbitrary<Question> = fc.record({
  verb: fc.constantFrom(...VERBS, 'patch', '*'),
  apiGroup: fc.constantFrom(...API_GROUPS),
  resource: fc.constantFrom(...RESOURCES),
  subresource: fc.oneof({ weight: 8, arbitrary: fc.constant('') }, fc.constantFrom(...SUBRESOURCES)),
  namespace: fc.constantFrom('', 'gone', ...NAMESPACES),
  name: fc.constantFrom(...NAMES),
  tenant: fc.constant(''),
});
const pathQuestion: Arbitrary<Question> = fc.record({
  verb: fc.constantFrom('get', 'list', 'post'),
  path: fc.constantFrom(...PATHS, '/apis/', '/healthy', '/api'),
});

export const randomQuestion: Arbitrary<Question> = fc.oneof(
  { weight: 5, arbitrary: resourceQuestion },
  pathQuestion,
);
