/**
 * Random RBAC objects, subjects and access questions, with so few names that rules, bindings and questions
 * match.
 */
import fc from 'fast-check';
import type { ScopeSpec } from '../../src/features/tokens/scope.ts';
import type { ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { StoredBinding, StoredRole, StoredSubject } from '../../src/kubernetes/rbac-v1.ts';
import type { TokenScope } from '../../src/kubernetes/token-scope.ts';
import type { RBACUser, SubjectByNamespace } from '../../src/rbac/attributes.ts';
import { ESCALATION_WORDS } from '../../src/rbac/escalating.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  rbacUser,
  role,
  roleBinding,
  serviceAccount,
  user,
} from './rbac-objects.ts';

const NAMESPACES = ['a', 'b', 'c'];
const GROUPS = ['g1', 'g2', 'g3'];
const USERS = ['u1', 'u2', 'system:serviceaccount:a:bot'];
const ROLES = ['r1', 'r2', 'r3', 'r4'];
const VERBS = ['get', 'list', 'delete'];
const API_GROUPS = ['', 'apps'];
const RESOURCES = ['pods', 'deployments', 'namespaces'];
const SUBRESOURCES = ['', '', 'scale', 'log'];
/** Resources whose use escalates rights. */
const ESCALATING = ['secrets', 'pods/exec'];
const NAMES = ['x', 'y', 'a'];

function some<T>(values: readonly T[], maxLength = 2): fc.Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength });
}

const rule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some([...VERBS, '*']),
  apiGroups: some([...API_GROUPS, '*']),
  resources: some(
    [...RESOURCES, ...ESCALATING, 'pods/log', 'pods/scale', 'deployments/scale', '*/scale', '*'],
    3,
  ),
  resourceNames: fc.oneof(fc.constant([]), fc.constant([]), some(NAMES)),
});

const boundSubjects: fc.Arbitrary<StoredSubject[]> = fc.array(
  fc.oneof(
    fc.constantFrom(...USERS).map(user),
    fc.constantFrom(...GROUPS).map(group),
    fc.constantFrom(serviceAccount('bot', 'a'), serviceAccount('bot')),
  ),
  { minLength: 1, maxLength: 2 },
);

const place = fc.constantFrom(...NAMESPACES);
const roleName = fc.constantFrom(...ROLES);
export const rules = fc.array(rule, { maxLength: 3 });
const bindingName = fc.constantFrom('b1', 'b2', 'b3', 'b4');

const roleObject: fc.Arbitrary<StoredRole> = fc.oneof(
  fc.tuple(roleName, rules).map(([name, list]) => clusterRole(name, list)),
  fc.tuple(place, roleName, rules).map(([where, name, list]) => role(where, name, list)),
);

const binding: fc.Arbitrary<StoredBinding> = fc.oneof(
  fc
    .tuple(bindingName, roleName, boundSubjects)
    .map(([name, of, to]) => clusterRoleBinding(name, `ClusterRole/${of}`, to)),
  ...['Role', 'ClusterRole'].map((kind) =>
    fc
      .tuple(place, bindingName, roleName, boundSubjects)
      .map(([where, name, of, to]) => roleBinding(where, name, `${kind}/${of}`, to)),
  ),
);

/** No two objects of one resource have the same namespace and name. Some bindings refer to no role. */
export const rbacObjects: fc.Arbitrary<(StoredRole | StoredBinding | ReturnType<typeof namespace>)[]> = fc
  .tuple(
    fc.uniqueArray(roleObject, { maxLength: 10, selector: keyOf }),
    fc.uniqueArray(binding, { maxLength: 10, selector: keyOf }),
  )
  .map(([roles, bindings]) => [...NAMESPACES.map((name) => namespace(name)), ...roles, ...bindings]);

function keyOf({ resource, namespace: where, name }: StoredRole | StoredBinding) {
  return `${resource}/${where}/${name}`;
}

const userName = fc.constantFrom(...USERS, 'u3');
const groups = fc.oneof(some([...GROUPS, 'g4']), some([...GROUPS, 'system:masters'], 1));

/** Half of the subjects are the same user in every namespace; the others have groups by namespace. */
export const subjects: fc.Arbitrary<SubjectByNamespace> = fc
  .tuple(userName, groups, groups, fc.array(fc.tuple(place, groups), { maxLength: 2 }), fc.boolean())
  .map(([name, forCluster, forOther, forNamespaces, isUniform]) => {
    const cluster = rbacUser(name, forCluster);
    if (isUniform) return { cluster, other: cluster, namespaces: new Map() };
    return {
      cluster,
      other: rbacUser(name, forOther),
      namespaces: new Map(forNamespaces.map(([where, held]) => [where, rbacUser(name, held)])),
    };
  });

export const questions: fc.Arbitrary<ResourceQuestion> = fc.record({
  verb: fc.constantFrom(...VERBS, 'watch', 'bind'),
  apiGroup: fc.constantFrom(...API_GROUPS, 'batch'),
  resource: fc.constantFrom(...RESOURCES, 'secrets', 'jobs'),
  subresource: fc.constantFrom(...SUBRESOURCES, 'exec'),
  namespace: fc.constantFrom('', ...NAMESPACES, 'd'),
  name: fc.constantFrom('', ...NAMES, 'z'),
  tenant: fc.constant(''),
});

/** Namespaces and names of all objects that questions can be about, and some that no rule names. */
export const objectKinds = {
  apiGroups: [...API_GROUPS, 'batch'],
  resources: [...RESOURCES, 'jobs'],
  namespaces: ['', ...NAMESPACES, 'd'],
  names: [...NAMES, 'z'],
};

const scopeText = fc.oneof(
  fc.constantFrom('read', 'session', 'tenant/edit', 'userinfo'),
  fc
    .tuple(fc.constantFrom(...NAMESPACES, 'd'), fc.constantFrom('read', 'control', 'edit', 'manage'))
    .map(([where, level]) => `namespace/${where}/${level}`),
);
const scopeWord = fc.constantFrom(...ESCALATION_WORDS).map((word) => `+${word}`);
const scopeRule = fc
  .tuple(rule, some([...NAMESPACES, 'd', '*']))
  .map(([{ verbs, apiGroups = [], resources = [], resourceNames = [] }, namespaces]) => ({
    ...{ verbs: [...verbs], apiGroups: [...apiGroups], resources: [...resources], namespaces },
    ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
  }));

/** Scopes of access tokens: levels in some places, rules, and words for escalating rights. */
export const scopeSpecs: fc.Arbitrary<ScopeSpec> = fc
  .tuple(
    fc.array(scopeText, { maxLength: 2 }),
    fc.array(scopeWord, { maxLength: 5 }),
    fc.array(scopeRule, { maxLength: 2 }),
  )
  .map(([texts, words, rules]) => ({ scopes: [...texts, ...words], rules }));

export function withScope(subject: SubjectByNamespace, scope: TokenScope): SubjectByNamespace {
  const limited = (of: RBACUser): RBACUser => ({ ...of, scope });
  return {
    cluster: limited(subject.cluster),
    other: limited(subject.other),
    namespaces: new Map([...subject.namespaces].map(([name, of]) => [name, limited(of)])),
  };
}
