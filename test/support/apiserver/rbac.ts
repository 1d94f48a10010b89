/**
 * Authorization from the roles and bindings in the store, as real servers do it. In Arktos a user of a tenant
 * is denied outside of that tenant before any rule is read, and the rules are those of the user’s tenant, not
 * of the request’s.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { type JsonObject, objectAt, objectsAt, textAt, textsAt } from './json.ts';
import type { Flavour } from './kinds.ts';
import type { ObjectStore, Stored } from './store.ts';
import type { User } from './users.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const SYSTEM = 'system';

export interface Attributes {
  readonly user: User;
  readonly verb: string;
  /** The tenant of the request; ignored if the cluster has no tenants. */
  readonly tenant: string;
  readonly isResourceRequest: boolean;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path of a request that is not for a resource. */
  readonly path: string;
}

export interface Verdict {
  readonly allowed: boolean;
  /** True if the chain ends here; false if no authorizer has allowed it. */
  readonly denied: boolean;
  readonly reason: string;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly verbs: readonly string[];
}

export interface Rbac {
  authorize(attributes: Attributes): Verdict;
  /** Every rule that applies to a user in a namespace, for a rules review. */
  rulesFor(user: User, namespace: string): Rule[];
}

export function createRbac(store: ObjectStore, flavour: Flavour): Rbac {
  /** For a user of Arktos' tenant `all`, the bindings of every tenant are read. */
  const tenantSelection = (user: User): string | undefined =>
    flavour === 'kubernetes' ? '' : user.tenant === 'all' ? undefined : user.tenant;

  function* grants(user: User, namespace: string): Generator<{ rule: Rule; reason: string }> {
    const tenant = tenantSelection(user);
    const selection = { group: RBAC_GROUP, ...(tenant === undefined ? {} : { tenant }) };
    const bindings = store.list({ ...selection, resource: 'clusterrolebindings' });
    if (namespace !== '') bindings.push(...store.list({ ...selection, resource: 'rolebindings', namespace }));
    for (const binding of bindings) {
      const subject = objectsAt(binding.object, 'subjects').find((one) =>
        isSubject(one, user, binding.location.namespace),
      );
      if (subject === undefined) continue;
      const reason = describe(binding, subject);
      for (const rule of rulesOf(store, binding)) yield { rule, reason };
    }
  }

  return {
    authorize(attributes) {
      const { user } = attributes;
      if (user.groups.includes('system:masters')) return { allowed: true, denied: false, reason: '' };
      if (flavour === 'arktos' && user.tenant !== SYSTEM && user.tenant !== attributes.tenant)
        return { allowed: false, denied: true, reason: '' };
      for (const { rule, reason } of grants(user, attributes.namespace)) {
        if (ruleAllows(rule, attributes)) return { allowed: true, denied: false, reason };
      }
      return { allowed: false, denied: false, reason: '' };
    },
    rulesFor: (user, namespace) => [...grants(user, namespace)].map(({ rule }) => rule),
  };
}

function rulesOf(store: ObjectStore, { location, object }: Stored): Rule[] {
  const reference = objectAt(object, 'roleRef');
  const clusterWide = textAt(reference, 'kind') === 'ClusterRole';
  const role = store.get({
    tenant: location.tenant,
    group: RBAC_GROUP,
    resource: clusterWide ? 'clusterroles' : 'roles',
    namespace: clusterWide ? '' : location.namespace,
    name: textAt(reference, 'name'),
  });
  return objectsAt(role, 'rules').map((rule) => ({
    apiGroups: textsAt(rule, 'apiGroups'),
    resources: textsAt(rule, 'resources'),
    resourceNames: textsAt(rule, 'resourceNames'),
    nonResourceURLs: textsAt(rule, 'nonResourceURLs'),
    verbs: textsAt(rule, 'verbs'),
  }));
}

function isSubject(subject: JsonObject, user: User, bindingNamespace: string) {
  const name = textAt(subject, 'name');
  switch (textAt(subject, 'kind')) {
    case 'User':
      return user.username === name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount': {
      const namespace = textAt(subject, 'namespace') || bindingNamespace;
      return user.username === `system:serviceaccount:${namespace}:${name}`;
    }
    default:
      return false;
  }
}

function describe({ location, object }: Stored, subject: JsonObject) {
  const kind = location.namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const name = location.namespace === '' ? location.name : `${location.name}/${location.namespace}`;
  const role = objectAt(object, 'roleRef');
  return `RBAC: allowed by ${kind} "${name}" of ${textAt(role, 'kind')} "${textAt(role, 'name')}" to ${textAt(subject, 'kind')} "${textAt(subject, 'name')}"`;
}

function ruleAllows(rule: Rule, attributes: Attributes) {
  if (!holds(rule.verbs, attributes.verb)) return false;
  if (!attributes.isResourceRequest)
    return rule.nonResourceURLs.some((pattern) => pathMatches(pattern, attributes.path));
  const { resource, subresource, name } = attributes;
  const wanted = subresource === '' ? resource : `${resource}/${subresource}`;
  const resourceMatches =
    holds(rule.resources, wanted) || (subresource !== '' && rule.resources.includes(`*/${subresource}`));
  return (
    holds(rule.apiGroups, attributes.group) &&
    resourceMatches &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

const holds = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);

function pathMatches(pattern: string, path: string) {
  return (
    pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))
  );
}
