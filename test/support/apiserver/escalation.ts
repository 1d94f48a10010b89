/**
 * No user grants more than they have: to write a role, a user needs the rights in its rules or `escalate`; to
 * bind a role, they need its rights or `bind`. The role of a binding never changes. Arktos looks up the role
 * of a binding in the *system* tenant, whichever tenant the binding is in, so it checks the rules of another
 * role, or finds none.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/ (privilege escalation prevention)
 */
import type { Exchange } from './exchange.ts';
import { type JsonObject, objectAt, objectsAt, textAt, textsAt } from './json.ts';
import type { Kind } from './kinds.ts';
import type { Attributes } from './rbac.ts';
import { invalid, notAdmitted, notFound } from './statuses.ts';
import type { User } from './users.ts';

const GROUP = 'rbac.authorization.k8s.io';

/**
 * @param before the stored object; undefined for a new one
 * @throws ApiError 403 if the object grants more than the user has, 422 for another role in a binding
 */
export function admitRights(exchange: Exchange, kind: Kind, object: JsonObject, before?: JsonObject) {
  if (kind.group !== GROUP) return;
  const name = textAt(objectAt(object, 'metadata'), 'name');
  const assertHolds = (rules: readonly JsonObject[]) => {
    const missing = rules.filter((rule) => !holds(exchange, rule));
    if (missing.length > 0)
      throw notAdmitted(kind.group, kind.resource, name, attempt(exchange.user, missing));
  };
  if (kind.resource === 'roles' || kind.resource === 'clusterroles') {
    if (!may(exchange, 'escalate', kind.resource, exchange.path.name))
      assertHolds(objectsAt(object, 'rules'));
    return;
  }
  const role = objectAt(object, 'roleRef');
  const [roleKind, roleName] = [textAt(role, 'kind'), textAt(role, 'name')];
  const former = before && objectAt(before, 'roleRef');
  if (former && (textAt(former, 'kind') !== roleKind || textAt(former, 'name') !== roleName))
    throw invalid(kind.group, kind.kind, name, {
      field: 'roleRef',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: cannot change roleRef',
    });
  const resource = roleKind === 'ClusterRole' ? 'clusterroles' : 'roles';
  if (may(exchange, 'bind', resource, roleName)) return;
  const bound = exchange.cluster.store.get({
    tenant: exchange.cluster.flavour === 'arktos' ? 'system' : '',
    group: GROUP,
    resource,
    namespace: resource === 'roles' ? exchange.path.namespace : '',
    name: roleName,
  });
  if (bound === undefined) throw notFound(GROUP, resource, roleName);
  assertHolds(objectsAt(bound, 'rules'));
}

function attempt({ username, groups }: User, missing: readonly JsonObject[]) {
  const rules = missing.map((rule) => `\n${compact(rule)}`).join('');
  return `user ${JSON.stringify(username)} (groups=${goList(groups)}) is attempting to grant RBAC permissions not currently held:${rules}`;
}

const FIELDS = [
  ['APIGroups', 'apiGroups'],
  ['Resources', 'resources'],
  ['NonResourceURLs', 'nonResourceURLs'],
  ['ResourceNames', 'resourceNames'],
  ['Verbs', 'verbs'],
] as const;

/** A rule in the format of RBAC's CompactString. */
function compact(rule: JsonObject) {
  const parts = FIELDS.map(([name, field]) => [name, textsAt(rule, field)] as const)
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:${goList(values)}`);
  return `{${parts.join(', ')}}`;
}

/** A list in the format of Go's `%q`. */
function goList(texts: readonly string[]) {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}

function may(exchange: Exchange, verb: string, resource: string, name: string) {
  return allowed(exchange, { verb, group: GROUP, resource, name });
}

function holds(exchange: Exchange, rule: JsonObject) {
  const names = textsAt(rule, 'resourceNames');
  return textsAt(rule, 'verbs').every(
    (verb) =>
      textsAt(rule, 'apiGroups').every((group) =>
        textsAt(rule, 'resources').every((path) => {
          const [resource = '', subresource = ''] = path.split('/');
          return (names.length === 0 ? [''] : names).every((name) =>
            allowed(exchange, { verb, group, resource, subresource, name }),
          );
        }),
      ) &&
      textsAt(rule, 'nonResourceURLs').every((path) =>
        allowed(exchange, { verb, path, isResourceRequest: false }),
      ),
  );
}

function allowed({ cluster, user, path, tenant }: Exchange, asked: Partial<Attributes>) {
  return cluster.rbac.authorize({
    user,
    verb: '',
    tenant,
    isResourceRequest: true,
    group: '',
    resource: '',
    subresource: '',
    namespace: path.namespace,
    name: '',
    path: '',
    ...asked,
  }).allowed;
}
