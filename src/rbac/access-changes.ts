/**
 * Passes changes of the RBAC index to the followers that they concern: watches and views of what a user may
 * see. One change may concern thousands of watches, so each decides in a later turn of the event loop.
 */
import { GROUPS_OF_EVERYONE } from '../kubernetes/reserved-names.ts';
import type { Clock } from '../lib/clock.ts';
import type { AccessChange, Change } from './change.ts';
import type { RBACIndex } from './rbac-index.ts';
import type { SubjectKey } from './subject-key.ts';

/** A follower receives the changes of these subjects' access. */
export interface Concerns {
  readonly tenant: string;
  readonly keys: ReadonlySet<SubjectKey>;
}

export interface AccessFollower {
  readonly concerns: Concerns;
  /** The tenant whose namespaces come and go; empty if the API server has none. */
  readonly namespacesOf: string;
  /** A change that may concern it; cheap. @returns whether it is to decide soon what the change means */
  changed(change: Change): boolean;
  decide(): void;
  /**
   * Discards earlier decisions: the API server's storage was restored from a backup, or the tenant's index
   * was turned off or on.
   */
  reset(): void;
}

/** Milliseconds of one turn. */
const TURN = 10;

export class AccessChanges {
  readonly #index: RBACIndex;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #nextTurn: (action: () => void) => void;
  readonly #followers = new Set<AccessFollower>();
  readonly #byAccess = new FollowersByText();
  /** The followers by the tenant whose namespaces come and go. */
  readonly #byTenant = new FollowersByText();
  readonly #undecided = new Set<AccessFollower>();
  #unsubscribe: (() => void) | undefined;
  #isPlanned = false;

  constructor(
    index: RBACIndex,
    clock: Pick<Clock, 'now'>,
    nextTurn: (action: () => void) => void = setImmediate,
  ) {
    this.#index = index;
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /** @returns ends it */
  follow(follower: AccessFollower): () => void {
    this.#followers.add(follower);
    this.#byAccess.add(placesOf(follower.concerns), follower);
    this.#byTenant.add([follower.namespacesOf], follower);
    this.#unsubscribe ??= this.#index.subscribe({
      changed: (change) => this.#changed(change),
      restored: () => this.#reset(() => true),
      reset: (tenant) => this.#reset(({ concerns }) => concerns.tenant === tenant),
    });
    return () => {
      this.#followers.delete(follower);
      this.#byAccess.delete(placesOf(follower.concerns), follower);
      this.#byTenant.delete([follower.namespacesOf], follower);
      this.#undecided.delete(follower);
      if (this.#followers.size > 0) return;
      // Nothing refers to the index of an earlier configuration then.
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    };
  }

  #changed(change: Change): void {
    const { tenant } = change;
    const concerned =
      change.kind === 'namespace'
        ? this.#byTenant.find([tenant])
        : this.#byAccess.find(placesOf({ tenant, keys: keysOf(change) }));
    for (const follower of concerned) if (follower.changed(change)) this.#undecided.add(follower);
    if (this.#undecided.size > 0) this.#plan();
  }

  #reset(isConcerned: (follower: AccessFollower) => boolean): void {
    for (const follower of [...this.#followers]) if (isConcerned(follower)) follower.reset();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#nextTurn(() => this.#decide());
  }

  #decide(): void {
    this.#isPlanned = false;
    const end = this.#clock.now() + TURN;
    for (const follower of this.#undecided) {
      this.#undecided.delete(follower);
      follower.decide();
      if (this.#clock.now() >= end) break;
    }
    if (this.#undecided.size > 0) this.#plan();
  }
}

/** Without tenants at the API server, RoleBindings of all users make nothing visible. */
function keysOf({ tenant, namespaces, subjects }: AccessChange): ReadonlySet<SubjectKey> {
  if (tenant !== '' || namespaces.has('')) return subjects;
  return new Set([...subjects].filter((key) => !GROUPS_OF_EVERYONE.has(key)));
}

/** A subject's key with its tenant, if the API server has tenants. */
function* placesOf({ tenant, keys }: Concerns): Generator<string> {
  for (const key of keys) yield tenant === '' ? key : `${tenant} ${key}`;
}

class FollowersByText {
  readonly #followers = new Map<string, Set<AccessFollower>>();

  add(texts: Iterable<string>, follower: AccessFollower): void {
    for (const text of texts) {
      const known = this.#followers.get(text);
      if (known === undefined) this.#followers.set(text, new Set([follower]));
      else known.add(follower);
    }
  }

  delete(texts: Iterable<string>, follower: AccessFollower): void {
    for (const text of texts) {
      const known = this.#followers.get(text);
      known?.delete(follower);
      if (known?.size === 0) this.#followers.delete(text);
    }
  }

  /** A copy, so that each may be deleted meanwhile. */
  find(texts: Iterable<string>): ReadonlySet<AccessFollower> {
    const found = new Set<AccessFollower>();
    for (const text of texts) for (const follower of this.#followers.get(text) ?? []) found.add(follower);
    return found;
  }
}
