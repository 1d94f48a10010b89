/**
 * The namespaces that one user may `get`: compiled once from the RBAC index, then updated by the changes that
 * concern the user: at once while it is watched, else at its next use. Requests and watches share it.
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

/** A difference in what the user sees. */
export interface VisibleChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** As it was last seen if it is deleted. */
  readonly namespace: StoredNamespace;
  /** As it was last seen if it is modified. */
  readonly before?: StoredNamespace;
  /** Of the change: of the namespace, or of the user's access to it. */
  readonly revision: number;
  readonly cause: 'object' | 'access';
}

/** Of one user. Beyond it the names are forgotten, and watches from before begin anew. */
const MAX_REMOVED = 1_000;

/** Without a watch. Beyond it everything is evaluated anew, which costs no more. */
const MAX_DEFERRED = 16;
/** Stands for all namespaces. */
const ALL = '';

export type VisibleListener = (change: VisibleChange) => void;

export class VisibleNamespaces {
  static #lastGeneration = 0;
  readonly subject: SubjectByNamespace;
  readonly tenant: string;
  /** Under which bindings of the user are found. */
  readonly keys: ReadonlySet<SubjectKey>;
  readonly #index: RBACIndex;
  readonly #question: NamespacesQuestion;
  readonly #namespaces: Map<string, StoredNamespace>;
  /** Names that the user saw, and no longer sees. */
  readonly #removed = new Set<string>();
  /** The highest revision known when `#removed` was empty. */
  #removedSince: number;
  readonly #listeners = new Set<VisibleListener>();
  /** Names to be evaluated at the next use, with the revision of the change. */
  readonly #deferred = new Map<string, number>();
  #isAccessDeferred = false;
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
    this.#removedSince = index.highestRevision;
  }

  /** By name. */
  get sorted(): readonly StoredNamespace[] {
    this.#settle();
    this.#sorted ??= [...this.#namespaces.keys()].sort().flatMap((name) => this.#namespaces.get(name) ?? []);
    return this.#sorted;
  }

  /** Sorted. */
  get names(): readonly string[] {
    this.#settle();
    this.#names ??= this.sorted.map(({ name }) => name);
    return this.#names;
  }

  /** Without what is deferred. */
  get size(): number {
    return this.#namespaces.size;
  }

  static #nextGeneration(): number {
    VisibleNamespaces.#lastGeneration += 1;
    return VisibleNamespaces.#lastGeneration;
  }

  /** Of the names, and of whose they are: equal in all replicas that know the same. */
  get digest(): string {
    this.#settle();
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
    this.#settle();
    return this.#generation;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** @returns undefined if the user does not see it */
  get(name: string): StoredNamespace | undefined {
    this.#settle();
    return this.#namespaces.get(name);
  }

  /** Whether a change of the namespace concerns the view; nothing is evaluated for it. */
  holds(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /** Whether the user saw the namespace, and no longer sees it. */
  hasSeen(name: string): boolean {
    this.#settle();
    return this.#removed.has(name);
  }

  /** Whether `hasSeen` knows of everything that changes above the revision took from the user. */
  hasSeenSince(revision: number): boolean {
    this.#settle();
    return revision > this.#removedSince;
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
    this.#settle();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** To be called with every change of the tenant, after it is in the index. */
  apply(change: Change): void {
    if (!this.isWatched && this.#defer(change)) return;
    if (change.kind === 'namespace') this.#applyNamespace(change);
    else this.#applyAccess(change);
  }

  /**
   * One change may concern all users, and a decision takes as many steps as the user has bindings.
   *
   * @returns false if the change needs no decision
   */
  #defer(change: Change): boolean {
    if (change.kind === 'access') {
      if (!this.concerns(change)) return true;
      this.#isAccessDeferred = true;
      for (const name of change.namespaces) this.#deferName(name, change.revision);
      return true;
    }
    if (change.type !== 'ADDED' || this.holds(change.namespace.name)) return false;
    this.#deferName(change.namespace.name, change.revision);
    return true;
  }

  #deferName(name: string, revision: number): void {
    if (this.#deferred.has(ALL)) return;
    const isTooMany = this.#deferred.size >= MAX_DEFERRED;
    if (isTooMany) this.#deferred.clear();
    this.#deferred.set(isTooMany ? ALL : name, revision);
  }

  #settle(): void {
    if (this.#deferred.size === 0) return;
    const deferred = new Map(this.#deferred);
    this.#deferred.clear();
    if (this.#isAccessDeferred) this.#generation = VisibleNamespaces.#nextGeneration();
    this.#isAccessDeferred = false;
    const revisionOfAll = deferred.get(ALL);
    if (revisionOfAll !== undefined) this.#evaluateAll(revisionOfAll);
    else for (const [name, revision] of deferred) this.#evaluate(name, revision, this.covers(name));
  }

  #applyNamespace({ type, namespace, revision }: NamespaceChange): void {
    const { name } = namespace;
    const known = this.#namespaces.get(name);
    if (type === 'DELETED') {
      if (known !== undefined) this.#remove(known, revision, 'object');
    } else if (known !== undefined) {
      this.#namespaces.set(name, namespace);
      this.#sorted = undefined;
      this.#tell({ type: 'MODIFIED', namespace, before: known, revision, cause: 'object' });
    } else if (type === 'ADDED' && this.covers(name)) this.#add(namespace, revision, 'object');
  }

  #applyAccess(change: AccessChange): void {
    if (!this.concerns(change)) return;
    this.#generation = VisibleNamespaces.#nextGeneration();
    const { namespaces, revision } = change;
    if (namespaces.has(ALL)) this.#evaluateAll(revision);
    else for (const name of namespaces) this.#evaluate(name, revision, this.covers(name));
  }

  #evaluateAll(revision: number): void {
    const allowed = allowedNamespaces(this.#index, this.subject, this.#question);
    for (const name of new Set([...this.#namespaces.keys(), ...allowed.keys()]))
      this.#evaluate(name, revision, allowed.has(name));
  }

  #evaluate(name: string, revision: number, isAllowed: boolean): void {
    const known = this.#namespaces.get(name);
    const namespace = this.#index.objectsOf(this.tenant).namespaces.get(name);
    if (isAllowed && known === undefined && namespace !== undefined) this.#add(namespace, revision, 'access');
    if (!isAllowed && known !== undefined) this.#remove(known, revision, 'access');
  }

  #add(namespace: StoredNamespace, revision: number, cause: VisibleChange['cause']): void {
    this.#namespaces.set(namespace.name, namespace);
    this.#removed.delete(namespace.name);
    this.#forgetNames();
    this.#tell({ type: 'ADDED', namespace, revision, cause });
  }

  #remove(namespace: StoredNamespace, revision: number, cause: VisibleChange['cause']): void {
    this.#namespaces.delete(namespace.name);
    if (this.#removed.size >= MAX_REMOVED) {
      this.#removed.clear();
      this.#removedSince = this.#index.highestRevision;
    }
    this.#removed.add(namespace.name);
    this.#forgetNames();
    this.#tell({ type: 'DELETED', namespace, revision, cause });
  }

  #forgetNames(): void {
    this.#sorted = undefined;
    this.#names = undefined;
    this.#digest = undefined;
  }

  #tell(change: VisibleChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
