/**
 * In which namespaces a user may do something, from the inverted bindings: the cost depends on the user's
 * bindings, not on the number of namespaces.
 */
import type { StoredBinding, StoredNamespace, StoredRole } from '../kubernetes/rbac-v1.ts';
import { GROUPS_OF_EVERYONE } from '../kubernetes/reserved-names.ts';
import type { RBACUser, ResourceQuestion, SubjectByNamespace } from './attributes.ts';
import { allows, isConfinedElsewhere, SYSTEM_MASTERS } from './decide.ts';
import type { RBACIndex } from './rbac-index.ts';
import { type Covered, coveredByRole } from './rules.ts';
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

const NOTHING: Covered = new Set();

/** Collects namespaces. What a role covers is computed once for each role. */
class Reach {
  readonly #objects: TenantObjects;
  readonly #question: NamespacesQuestion;
  readonly #existing: ReadonlyMap<string, StoredNamespace>;
  readonly #covered = new Map<StoredRole, Covered>();
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
    const namesNamespace = this.#question.name === 'namespace';
    const isCovered = covered === 'all' || covered.has(namesNamespace ? namespace : '');
    if (namespace !== '') {
      if (isCovered) this.#addIfExisting(namespace);
    } else if (covered === 'all' || (isCovered && !namesNamespace)) this.everywhere = true;
    else if (namesNamespace) for (const name of covered) this.#addIfExisting(name);
  }

  #addIfExisting(name: string): void {
    const namespace = this.#existing.get(name);
    if (namespace !== undefined) this.namespaces.set(name, namespace);
  }

  #coveredBy(binding: StoredBinding): Covered {
    const role = this.#objects.roleOf(binding);
    if (role === undefined) return NOTHING;
    const known = this.#covered.get(role);
    if (known !== undefined) return known;
    const covered = coveredByRole(role, this.#question);
    this.#covered.set(role, covered);
    return covered;
  }
}
