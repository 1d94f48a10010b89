/**
 * In which namespaces a user may do something, from the inverted bindings: the cost depends on the user's
 * bindings, not on the number of namespaces.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { StoredBinding, StoredNamespace, StoredRole } from '../api/rbac-v1.ts';
import { GROUPS_OF_EVERYONE } from '../api/reserved-names.ts';
import type { RBACUser, ResourceQuestion, SubjectByNamespace } from './attributes.ts';
import { allows, isConfinedElsewhere, SYSTEM_MASTERS } from './decide.ts';
import type { RBACIndex } from './rbac-index.ts';
import { nameMatches, resourceMatches, verbMatches } from './rules.ts';
import { inNamespace } from './sorted-bindings.ts';
import { keysOfUser } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

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

/** The same by name, in no order. */
export function allowedNamespaces(
  index: RBACIndex,
  subject: SubjectByNamespace,
  question: NamespacesQuestion,
  counted: CountedBindings,
): Map<string, StoredNamespace> {
  const existing = index.objectsOf(question.tenant).namespaces;
  const allowed = candidates(index, subject.other, question, existing, counted);
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
  { name, ...question }: NamespacesQuestion,
  namespace: string,
  counted: CountedBindings,
): boolean {
  const asked = { ...question, name: name === '' ? '' : namespace };
  if (!isLimited(user, counted)) return allows(index, user, { ...asked, namespace });
  const groups = user.groups.filter((group) => !GROUPS_OF_EVERYONE.has(group));
  return (
    allows(index, user, { ...asked, namespace: '' }) ||
    allows(index, { ...user, groups }, { ...asked, namespace })
  );
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
  const reach = new Reach(objects, question, existing);
  for (const key of keysOfUser(user)) {
    const bindings = objects.bindingsOfSubject(key);
    const isOfEveryone = isLimited(user, counted) && GROUPS_OF_EVERYONE.has(key);
    for (const binding of isOfEveryone ? inNamespace(bindings, '') : bindings) {
      reach.add(binding);
      if (reach.everywhere) return new Map(existing);
    }
  }
  return reach.namespaces;
}

/** Collects namespaces. What a role covers is computed once for each role. */
class Reach {
  readonly #objects: TenantObjects;
  readonly #question: NamespacesQuestion;
  readonly #existing: ReadonlyMap<string, StoredNamespace>;
  readonly #covered = new Map<StoredRole, Coverage>();
  readonly namespaces = new Map<string, StoredNamespace>();
  everywhere = false;

  constructor(
    objects: TenantObjects,
    question: NamespacesQuestion,
    existing: ReadonlyMap<string, StoredNamespace>,
  ) {
    this.#objects = objects;
    this.#question = question;
    this.#existing = existing;
  }

  add(binding: StoredBinding): void {
    const { namespace } = binding;
    if (namespace !== '' && this.namespaces.has(namespace)) return;
    const covered = this.#coveredBy(binding);
    if (namespace === '') {
      if (covered === 'all') this.everywhere = true;
      else for (const name of covered) this.#addIfExisting(name);
    } else if (covered === 'all' || covered.has(namespace)) this.#addIfExisting(namespace);
  }

  #addIfExisting(name: string): void {
    const namespace = this.#existing.get(name);
    if (namespace !== undefined) this.namespaces.set(name, namespace);
  }

  #coveredBy(binding: StoredBinding): Coverage {
    const role = this.#objects.roleOf(binding);
    if (role === undefined) return NOTHING;
    const known = this.#covered.get(role);
    if (known !== undefined) return known;
    const covered = coverage(role.rules, this.#question);
    this.#covered.set(role, covered);
    return covered;
  }
}

/** Names of namespaces if the rules are limited to some. */
type Coverage = 'all' | ReadonlySet<string>;
const NOTHING: Coverage = new Set();

function coverage(rules: readonly PolicyRule[], question: NamespacesQuestion): Coverage {
  const names = new Set<string>();
  for (const rule of rules) {
    if (!verbMatches(rule, question.verb) || !resourceMatches(rule, question)) continue;
    const { resourceNames = [] } = rule;
    const isForAll = question.name === '' ? nameMatches(rule, '') : resourceNames.length === 0;
    if (isForAll) return 'all';
    if (question.name === 'namespace') for (const name of resourceNames) names.add(name);
  }
  return names;
}
