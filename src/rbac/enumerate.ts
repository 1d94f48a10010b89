/**
 * Enumerates the namespaces in which a user may do something, from the inverted bindings: the cost depends on
 * the user's bindings, not on the number of namespaces.
 */

import type { ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { StoredNamespace, StoredRole } from '../kubernetes/rbac-v1.ts';
import { GROUPS_OF_EVERYONE } from '../kubernetes/reserved-names.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { RBACUser, SubjectByNamespace } from './attributes.ts';
import { isConfinedElsewhere, ownerMay, SYSTEM_MASTERS } from './decide.ts';
import type { RBACIndex } from './rbac-index.ts';
import { coveredByRole } from './rules.ts';
import { inNamespace } from './sorted-bindings.ts';
import { keysOfUser } from './subject-key.ts';

/** A question about many namespaces. */
export interface NamespacesQuestion
  extends Pick<ResourceQuestion, 'verb' | 'apiGroup' | 'resource' | 'subresource' | 'tenant'> {
  /** What a request in the namespace names: no object, or, for requests to namespaces, the namespace. */
  readonly name: '' | 'namespace';
}

/** `get` on each namespace itself: what "visible" means. */
export function visibleNamespaces(tenant: string): NamespacesQuestion {
  return { verb: 'get', apiGroup: '', resource: 'namespaces', subresource: '', tenant, name: 'namespace' };
}

/**
 * Which bindings count: all, or those that make something visible. Without tenants at the API server a
 * RoleBinding to all users makes nothing visible: who may write one in a single namespace could change what
 * every user of every tenant is shown.
 */
export type CountedBindings = 'all' | 'visible';

/** The existing namespaces of `question.tenant` in which the subject is allowed, sorted by name. */
export function namespacesAllowed(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: NamespacesQuestion,
  counted: CountedBindings = 'all',
): readonly string[] {
  return [...allowedNamespaces(index, subject, question, counted).keys()].sort();
}

/** Returns only the names of what `namespacesAllowed` returns, in no order. */
export function allowedNamespaces(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: NamespacesQuestion,
  counted: CountedBindings,
): Map<string, StoredNamespace> {
  const existing = index.objectsOf(question.tenant).namespaces;
  const allowed = candidates(index, subject.other, question, existing, counted);
  const { scope } = subject.other;
  if (scope !== undefined)
    for (const name of allowed.keys()) if (!scope.allows(questionIn(name, question))) allowed.delete(name);
  for (const [name, user] of subject.namespaces) {
    const namespace = existing.get(name);
    if (namespace !== undefined && isAllowedIn(index, user, question, name, counted))
      allowed.set(name, namespace);
    else allowed.delete(name);
  }
  return allowed;
}

/** Whether the subject is allowed in that one namespace. */
export function isAllowedIn(
  index: RBACIndex,
  user: RBACUser,
  question: NamespacesQuestion,
  namespace: string,
  counted: CountedBindings,
): boolean {
  const asked = questionIn(namespace, question);
  if (user.scope?.allows(asked) === false) return false;
  if (!isLimited(user, counted)) return ownerMay(index, user, asked);
  const groups = user.groups.filter((group) => !GROUPS_OF_EVERYONE.has(group));
  return ownerMay(index, user, { ...asked, namespace: '' }) || ownerMay(index, { ...user, groups }, asked);
}

function questionIn(namespace: string, { name, ...question }: NamespacesQuestion): ResourceQuestion {
  return { ...question, namespace, name: name === '' ? '' : namespace };
}

function isLimited({ tenant }: RBACUser, counted: CountedBindings): boolean {
  return counted === 'visible' && tenant === '';
}

/** The existing namespaces in which one user is allowed. */
function candidates(
  index: RBACIndex,
  user: RBACUser,
  question: NamespacesQuestion,
  existing: ReadonlyMap<string, StoredNamespace>,
  counted: CountedBindings,
): Map<string, StoredNamespace> {
  if (user.groups.includes(SYSTEM_MASTERS)) return new Map(existing);
  if (isConfinedElsewhere(index, user, { ...question, namespace: '', name: '' })) return new Map();
  const objects = index.objectsOf(user.tenant);
  const namesNamespace = question.name === 'namespace';
  const coveredBy = memoizeByReference((role: StoredRole) => coveredByRole(role, question));
  const found = new Map<string, StoredNamespace>();
  const add = (name: string) => {
    const namespace = existing.get(name);
    if (namespace !== undefined) found.set(name, namespace);
  };
  for (const key of keysOfUser(user)) {
    const bindings = objects.bindingsOfSubject(key);
    const isOfEveryone = isLimited(user, counted) && GROUPS_OF_EVERYONE.has(key);
    for (const binding of isOfEveryone ? inNamespace(bindings, '') : bindings) {
      const { namespace } = binding;
      const role = namespace !== '' && found.has(namespace) ? undefined : objects.roleOf(binding);
      if (role === undefined) continue;
      const covered = coveredBy(role);
      if (namespace !== '') {
        if (covered === 'all' || covered.has(namesNamespace ? namespace : '')) add(namespace);
      } else if (covered === 'all' || (!namesNamespace && covered.has(''))) return new Map(existing);
      else if (namesNamespace) for (const name of covered) add(name);
    }
  }
  return found;
}
