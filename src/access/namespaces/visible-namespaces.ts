/**
 * The namespaces that one user may `get`: compiled once from the RBAC index, then updated by the changes that
 * concern the user. Decisions are due then, and made at the next use, or when `decide` is called for a watch.
 * Requests and watches share it.
 */
import { createHash } from 'node:crypto';
import type { StoredNamespace } from '../../api/rbac-v1.ts';
import { type SubjectByNamespace, subjectIn } from '../../rbac/attributes.ts';
import type { AccessChange, Change, NamespaceChange } from '../../rbac/change.ts';
import {
  allowedNamespaces,
  isAllowedIn,
  type NamespacesQuestion,
  visibleNamespaces,
} from '../../rbac/enumerate.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { intersects, type SubjectKey } from '../../rbac/subject-key.ts';
import { fingerprintOfSubject, keysOfSubject } from '../subject-changes.ts';
import { ALL, type Cause, DueDecisions } from './due-decisions.ts';
import { RemovedNames } from './removed-names.ts';

/** A difference in what the user sees. */
export interface VisibleChange extends Cause {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** As it was last seen if it is deleted. */
  readonly namespace: StoredNamespace;
  /** As it was last seen if it is modified. */
  readonly before?: StoredNamespace;
}

/** Of a name in the map and in both sorted arrays; of a group of the user. */
const NAME_BYTES = 80;
const KEY_BYTES = 100;

export interface VisibleListener {
  changed(change: VisibleChange): void;
  /** All decisions that were due are made. */
  decided(): void;
}

export class VisibleNamespaces {
  static #lastGeneration = 0;
  readonly subject: SubjectByNamespace;
  readonly tenant: string;
  readonly keys: ReadonlySet<SubjectKey>;
  readonly #index: RBACIndex;
  readonly #question: NamespacesQuestion;
  readonly #namespaces: Map<string, StoredNamespace>;
  readonly #removed: RemovedNames;
  readonly #listeners = new Set<VisibleListener>();
  readonly #due = new DueDecisions();
  #isAccessDue = false;
  #sorted: readonly StoredNamespace[] | undefined;
  #names: readonly string[] | undefined;
  #generation = VisibleNamespaces.#nextGeneration();
  #digest: string | undefined;
  #identity: string | undefined;

  /** @param tenant whose namespaces; empty if the API server has no tenants */
  constructor(index: RBACIndex, subject: SubjectByNamespace, tenant: string) {
    this.#index = index;
    this.subject = subject;
    this.tenant = tenant;
    this.keys = keysOfSubject(subject);
    this.#question = visibleNamespaces(tenant);
    this.#namespaces = allowedNamespaces(index, subject, this.#question);
    this.#removed = new RemovedNames(index.highestRevision);
  }

  get sorted(): readonly StoredNamespace[] {
    this.decide();
    this.#sorted ??= [...this.#namespaces.keys()].sort().flatMap((name) => this.#namespaces.get(name) ?? []);
    return this.#sorted;
  }

  get names(): readonly string[] {
    this.decide();
    this.#names ??= this.sorted.map(({ name }) => name);
    return this.#names;
  }

  /** Without the decisions that are due. */
  get size(): number {
    return this.#namespaces.size;
  }

  static #nextGeneration(): number {
    VisibleNamespaces.#lastGeneration += 1;
    return VisibleNamespaces.#lastGeneration;
  }

  /** Of the names, and of whose they are: equal in all replicas that know the same. */
  get digest(): string {
    this.decide();
    this.#digest ??= createHash('sha256')
      .update(JSON.stringify([fingerprintOfSubject(this.subject), this.names]))
      .digest('base64url');
    return this.#digest;
  }

  /** Equal for the same user with the same groups. */
  get identity(): string {
    this.#identity ??= createHash('sha256').update(fingerprintOfSubject(this.subject)).digest('base64url');
    return this.#identity;
  }

  /** Another number after each change of the user's access, and of each user, in this process. */
  get generation(): number {
    this.decide();
    return this.#generation;
  }

  /** Whose memory and decisions they are: the user's tenant, as Stonegate names it. */
  get account(): string {
    const { home, tenant } = this.subject.cluster;
    return home ?? tenant;
  }

  /** An estimate of the memory, in bytes. */
  get bytes(): number {
    return this.size * NAME_BYTES + this.keys.size * KEY_BYTES;
  }

  /** Whether decisions are due, of which listeners are not told yet. */
  get isDue(): boolean {
    return !this.#due.isEmpty;
  }

  /** The revision through which listeners know what the user sees. */
  get revision(): number {
    return Math.min(this.#index.revision, this.#due.before);
  }

  /** What listeners know of it: without the decisions that are due. */
  told(name: string): StoredNamespace | undefined {
    return this.#namespaces.get(name);
  }

  /** Undefined if the user does not see it. */
  get(name: string): StoredNamespace | undefined {
    this.decide();
    return this.#namespaces.get(name);
  }

  /** Whether a change of the namespace concerns the view; nothing is evaluated for it. */
  holds(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /** Whether the user saw the namespace, and no longer sees it. */
  hasSeen(name: string): boolean {
    this.decide();
    return this.#removed.has(name);
  }

  /** Whether `hasSeen` knows of everything that changes above the revision took from the user. */
  hasSeenSince(revision: number): boolean {
    this.decide();
    return this.#removed.reachBack(revision);
  }

  /** Whether the user's rights cover the name, also if there is no such namespace. */
  covers(name: string): boolean {
    return isAllowedIn(this.#index, subjectIn(this.subject, name), this.#question, name);
  }

  concerns({ subjects }: Pick<AccessChange, 'subjects'>): boolean {
    return intersects(subjects, this.keys);
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: VisibleListener): () => void {
    this.decide();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * To be called with every change of the tenant, after it is in the index. One change may concern all users,
   * and a decision takes as many steps as the user has bindings: it is only noted that it is due.
   */
  apply(change: Change): void {
    if (change.kind === 'namespace') this.#applyNamespace(change);
    else if (this.concerns(change)) {
      this.#isAccessDue = true;
      for (const name of change.namespaces)
        this.#due.add(name, { revision: change.revision, cause: 'access' }, this.size);
    }
  }

  /**
   * Makes the decisions that are due.
   *
   * @returns how many
   */
  decide(): number {
    if (this.#due.isEmpty) return 0;
    const due = this.#due.take();
    if (this.#isAccessDue) this.#generation = VisibleNamespaces.#nextGeneration();
    this.#isAccessDue = false;
    const all = due.get(ALL);
    const before = this.#namespaces.size;
    if (all !== undefined) this.#evaluateAll(all.revision);
    else for (const [name, change] of due) this.#evaluate(name, change, this.covers(name));
    for (const listener of this.#listeners) listener.decided();
    return all === undefined ? due.size : this.keys.size + before + this.#namespaces.size;
  }

  #applyNamespace({ type, namespace, revision }: NamespaceChange): void {
    const { name } = namespace;
    if (type === 'ADDED' && !this.holds(name)) {
      this.#due.add(name, { revision, cause: 'object' }, this.size);
      return;
    }
    const due = this.#due.of(name);
    // The user may have lost it before.
    if (due !== undefined && type !== 'DELETED') this.#evaluate(name, due, this.covers(name));
    const known = this.#namespaces.get(name);
    if (known === undefined) return;
    if (type === 'DELETED') this.#remove(known, revision, 'object');
    else {
      this.#namespaces.set(name, namespace);
      this.#sorted = undefined;
      this.#tell({ type: 'MODIFIED', namespace, before: known, revision, cause: 'object' });
    }
  }

  #evaluateAll(revision: number): void {
    const allowed = allowedNamespaces(this.#index, this.subject, this.#question);
    for (const name of new Set([...this.#namespaces.keys(), ...allowed.keys()]))
      this.#evaluate(name, { revision, cause: 'access' }, allowed.has(name));
  }

  #evaluate(name: string, { revision, cause }: Cause, isAllowed: boolean): void {
    const known = this.#namespaces.get(name);
    const namespace = this.#index.objectsOf(this.tenant).namespaces.get(name);
    if (isAllowed && namespace !== undefined) {
      if (known === undefined) this.#add(namespace, revision, cause);
    } else if (known !== undefined) this.#remove(known, revision, cause);
  }

  #add(namespace: StoredNamespace, revision: number, cause: VisibleChange['cause']): void {
    this.#namespaces.set(namespace.name, namespace);
    this.#removed.delete(namespace.name);
    this.#forgetNames();
    this.#tell({ type: 'ADDED', namespace, revision, cause });
  }

  #remove(namespace: StoredNamespace, revision: number, cause: VisibleChange['cause']): void {
    this.#namespaces.delete(namespace.name);
    this.#removed.add(namespace.name, this.#index.highestRevision);
    this.#forgetNames();
    this.#tell({ type: 'DELETED', namespace, revision, cause });
  }

  #forgetNames(): void {
    this.#sorted = undefined;
    this.#names = undefined;
    this.#digest = undefined;
  }

  #tell(change: VisibleChange): void {
    for (const listener of this.#listeners) listener.changed(change);
  }
}
