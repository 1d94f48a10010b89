/**
 * Tells open watches of all namespaces of the changes that concern their users. One change may concern all of
 * them: what it means for each is decided soon, a bounded part in each turn, in turn between tenants.
 */

import type { TurnQueue } from '../../lib/turn-queue.ts';
import type { Change } from '../../rbac/change.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { ByConcern, type Concerns } from '../subject-changes.ts';

/** What concerns a watch. */
export interface WatchConcerns {
  readonly access: Concerns;
  /** The tenant whose namespaces come and go; empty if the API server has none. */
  readonly tenant: string;
}

/** An open watch. */
export interface DecidingWatch {
  /** A change that concerns it; cheap. */
  changed(change: Change): void;
  /** Decides what the changes mean. @returns how many decisions it took */
  decide(): number;
}

interface Followed {
  readonly concerns: Concerns;
  readonly account: string;
  readonly watch: DecidingWatch;
}

export class WatchDecisions {
  readonly #index: RBACIndex;
  readonly #byAccess = new ByConcern<Followed>();
  readonly #byTenant = new Map<string, Set<Followed>>();
  readonly #queue: TurnQueue<DecidingWatch>;
  #unsubscribe: (() => void) | undefined;

  constructor(index: RBACIndex, queue: TurnQueue<DecidingWatch>) {
    this.#index = index;
    this.#queue = queue;
  }

  /**
   * @param account the tenant on whose account the decisions are made
   * @returns ends it
   */
  follow({ access, tenant }: WatchConcerns, account: string, watch: DecidingWatch): () => void {
    const followed = { concerns: access, account, watch };
    this.#byAccess.add(followed);
    const ofTenant = this.#byTenant.get(tenant) ?? new Set();
    this.#byTenant.set(tenant, ofTenant.add(followed));
    this.#unsubscribe ??= this.#index.subscribe({
      changed: (change) => this.#changed(change),
      reset: (ofTenant) => this.#reset(ofTenant),
    });
    return () => {
      this.#byAccess.delete(followed);
      ofTenant.delete(followed);
      if (ofTenant.size === 0) this.#byTenant.delete(tenant);
      if (this.#byTenant.size > 0) return;
      // Nothing refers to the index of an earlier configuration then.
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    };
  }

  #changed(change: Change): void {
    this.#decide(change, this.#concernedBy(change));
  }

  /** All namespaces may be lost. */
  #reset(tenant: string): void {
    const subjects = new Set<string>();
    const change: Change = { kind: 'access', tenant, revision: 0, subjects, namespaces: new Set(['']) };
    this.#decide(change, this.#byAccess.ofTenant(tenant));
  }

  #decide(change: Change, concerned: Iterable<Followed>): void {
    for (const { account, watch } of concerned) {
      watch.changed(change);
      this.#queue.add(account, watch);
    }
  }

  /** A copy, since a decision may end a watch. */
  #concernedBy(change: Change): Iterable<Followed> {
    const { tenant } = change;
    if (change.kind === 'access') return this.#byAccess.concernedBy({ tenant, keys: change.subjects });
    return change.type === 'MODIFIED' ? [] : [...(this.#byTenant.get(tenant) ?? [])];
  }
}
