/**
 * What the objects of one tenant may take in the index: one tenant must not fill every replica's memory. If
 * the API server has no tenants, the bound is that of a namespace, without the Namespace itself. Cluster-wide
 * objects, which only operators write, have none.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { IndexedResource, StoredObject } from '../api/rbac-v1.ts';
import { LeftOutSubjects } from './left-out-subjects.ts';
import type { SubjectKey } from './subject-key.ts';

export interface IndexBounds {
  readonly objects: number;
  /** As `sizeOf` estimates them. */
  readonly bytes: number;
}

/** Whose objects are bounded together. */
export interface BoundedOwner {
  /** Empty if the API server has no tenants. */
  readonly tenant: string;
  /** Empty for a tenant. */
  readonly namespace: string;
}

interface Account {
  readonly owner: BoundedOwner;
  objects: number;
  bytes: number;
  /** Resource → the number of the list since which objects of it are left out. */
  readonly leftOut: Map<IndexedResource, number>;
  readonly subjects: LeftOutSubjects;
}

/** Of the bytes of an owner, for the names of the subjects of what is left out. */
const SHARE_OF_SUBJECTS = 1 / 16;

export class BoundedOwners {
  readonly #bounds: IndexBounds;
  readonly #systemTenant: string;
  readonly #accounts = new Map<string, Account>();
  readonly #partial = new Map<string, BoundedOwner>();
  readonly #lists = new Map<IndexedResource, number>();

  constructor(bounds: IndexBounds, systemTenant: string) {
    this.#bounds = bounds;
    this.#systemTenant = systemTenant;
  }

  /** Those of which objects are left out. */
  get partial(): ReadonlyMap<string, BoundedOwner> {
    return this.#partial;
  }

  isPartial(owner: BoundedOwner): boolean {
    return this.#partial.size > 0 && this.#partial.has(keyOf(owner));
  }

  /** Whether a binding of the owner may be left out that names one of the subjects. */
  leavesOut(owner: BoundedOwner, keys: ReadonlySet<SubjectKey>): boolean {
    return this.#accounts.get(keyOf(owner))?.subjects.names(keys) ?? false;
  }

  /** @param known what the object replaces */
  hasRoomFor(known: StoredObject | undefined, object: StoredObject): boolean {
    const owner = this.#ownerOf(object);
    const account = owner && this.#accounts.get(keyOf(owner));
    if (owner === undefined) return true;
    const { objects = 0, bytes = 0 } = account ?? {};
    const freed = known === undefined ? 0 : sizeOf(known);
    const more = known === undefined ? 1 : 0;
    return objects + more <= this.#bounds.objects && bytes - freed + sizeOf(object) <= this.#bounds.bytes;
  }

  add(object: StoredObject): void {
    this.#change(object, 1);
  }

  remove(object: StoredObject): void {
    this.#change(object, -1);
  }

  /** @returns the owner if it is the first of its objects that is left out */
  leaveOut(object: StoredObject): BoundedOwner | undefined {
    const owner = this.#ownerOf(object);
    if (owner === undefined) return undefined;
    const isFirst = !this.#partial.has(keyOf(owner));
    const { leftOut, subjects } = this.#accountOf(owner);
    const list = this.#lists.get(object.resource) ?? 0;
    leftOut.set(object.resource, list);
    // Any object of a tenant concerns all of its users.
    if ('subjects' in object && owner.namespace !== '') subjects.add(object, list);
    this.#partial.set(keyOf(owner), owner);
    return isFirst ? owner : undefined;
  }

  listBegins(resource: IndexedResource): void {
    this.#lists.set(resource, (this.#lists.get(resource) ?? 0) + 1);
  }

  /** What no longer had to be left out of the list is complete again. */
  listEnds(resource: IndexedResource): void {
    const list = this.#lists.get(resource) ?? 0;
    for (const [key, owner] of this.#partial) {
      const { leftOut, subjects } = this.#accountOf(owner);
      if (resource === 'rolebindings') subjects.listEnds(list);
      if ((leftOut.get(resource) ?? list) < list) leftOut.delete(resource);
      if (leftOut.size > 0) continue;
      this.#partial.delete(key);
      this.#forget(key);
    }
  }

  #change(object: StoredObject, sign: 1 | -1): void {
    const owner = this.#ownerOf(object);
    if (owner === undefined) return;
    const account = this.#accountOf(owner);
    account.objects += sign;
    account.bytes += sign * sizeOf(object);
    if (sign < 0) this.#forget(keyOf(owner));
  }

  #accountOf(owner: BoundedOwner): Account {
    const known = this.#accounts.get(keyOf(owner));
    if (known !== undefined) return known;
    const subjects = new LeftOutSubjects(this.#bounds.bytes * SHARE_OF_SUBJECTS);
    const account: Account = { owner, objects: 0, bytes: 0, leftOut: new Map(), subjects };
    this.#accounts.set(keyOf(owner), account);
    return account;
  }

  #forget(key: string): void {
    const account = this.#accounts.get(key);
    if (account?.objects === 0 && account.leftOut.size === 0) this.#accounts.delete(key);
  }

  /** @returns undefined for what has no bound */
  #ownerOf(object: StoredObject): BoundedOwner | undefined {
    const { tenant } = object;
    if (tenant !== '') return tenant === this.#systemTenant ? undefined : { tenant, namespace: '' };
    // Without the Namespace itself it would be missing for all who have rights in every namespace.
    if (object.resource === 'namespaces' || object.namespace === '') return undefined;
    return { tenant, namespace: object.namespace };
  }
}

/** No tenant's name contains a slash. */
function keyOf({ tenant, namespace }: BoundedOwner): string {
  return `${tenant}/${namespace}`;
}

const OBJECT_BYTES = 500;
/** Characters of a name that are part of that. */
const ORDINARY_NAME = 64;
const SUBJECT_BYTES = 250;
const RULE_BYTES = 200;
/** A name in a rule, beside its characters. */
const TEXT_BYTES = 32;

/** An estimate, in bytes. The API server bounds no name of a role, or that a binding refers to. */
export function sizeOf(object: StoredObject): number {
  if (object.resource === 'namespaces') return OBJECT_BYTES + 2 * object.json.length;
  if ('subjects' in object) {
    const names = object.subjects.reduce(
      (sum, { name, namespace }) => sum + name.length + namespace.length,
      0,
    );
    return (
      OBJECT_BYTES +
      long(object.name) +
      long(object.roleRef.name) +
      object.subjects.length * SUBJECT_BYTES +
      names
    );
  }
  const labels = textBytes(Object.entries(object.labels).flat());
  return object.rules.reduce(
    (sum, rule) => sum + sizeOfRule(rule),
    OBJECT_BYTES + long(object.name) + labels,
  );
}

/** What a name takes beyond that of an ordinary object. */
function long(name: string): number {
  return Math.max(0, name.length - ORDINARY_NAME);
}

function sizeOfRule({ verbs, ...others }: PolicyRule): number {
  const lists = [verbs, others.apiGroups, others.resources, others.resourceNames, others.nonResourceURLs];
  return lists.reduce((sum, texts = []) => sum + textBytes(texts), RULE_BYTES);
}

function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_BYTES + text.length, 0);
}
