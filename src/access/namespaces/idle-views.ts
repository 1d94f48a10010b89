/**
 * The visible namespaces of users without an open watch, within a bound of memory. If there are too many, the
 * tenant that has most loses those that it used least recently: no tenant displaces those of a smaller one.
 */
import { IDLE_NAMES_BYTES } from '../../api/memory-bounds.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

export interface IdleViewsOptions {
  /** Of all tenants. */
  readonly maxBytes?: number;
  readonly maxViews?: number;
}

interface Idle {
  readonly usedAt: number;
  /** When it was used last. */
  readonly bytes: number;
}

interface Account {
  /** The least recently used first. */
  readonly views: Map<VisibleNamespaces, Idle>;
  bytes: number;
}

const MAX_VIEWS = 10_000;

export class IdleViews {
  readonly #maxBytes: number;
  readonly #maxViews: number;
  readonly #accounts = new Map<string, Account>();
  #bytes = 0;
  #size = 0;

  constructor({ maxBytes = IDLE_NAMES_BYTES, maxViews = MAX_VIEWS }: IdleViewsOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#maxViews = maxViews;
  }

  /** @returns those that are dropped for it */
  use(view: VisibleNamespaces, now: number): VisibleNamespaces[] {
    this.delete(view);
    const account = this.#accounts.get(view.account) ?? { views: new Map(), bytes: 0 };
    this.#accounts.set(view.account, account);
    const { bytes } = view;
    account.views.set(view, { usedAt: now, bytes });
    account.bytes += bytes;
    this.#bytes += bytes;
    this.#size += 1;
    const dropped: VisibleNamespaces[] = [];
    for (let next = this.#crowdedOut(view); next !== undefined; next = this.#crowdedOut(view)) {
      this.delete(next);
      dropped.push(next);
    }
    return dropped;
  }

  /** @param used stays @returns undefined if there is room for all */
  #crowdedOut(used: VisibleNamespaces): VisibleNamespaces | undefined {
    const hasTooManyBytes = this.#bytes > this.#maxBytes;
    if (!hasTooManyBytes && this.#size <= this.#maxViews) return undefined;
    const sizeOf = ({ bytes, views }: Account) => (hasTooManyBytes ? bytes : views.size);
    let largest: Account | undefined;
    for (const account of this.#accounts.values()) {
      const hasOthers = account.views.size > 1 || !account.views.has(used);
      if (hasOthers && (largest === undefined || sizeOf(account) > sizeOf(largest))) largest = account;
    }
    for (const view of largest?.views.keys() ?? []) if (view !== used) return view;
    return undefined;
  }

  delete(view: VisibleNamespaces): void {
    const account = this.#accounts.get(view.account);
    const idle = account?.views.get(view);
    if (account === undefined || idle === undefined) return;
    account.views.delete(view);
    account.bytes -= idle.bytes;
    this.#bytes -= idle.bytes;
    this.#size -= 1;
    if (account.views.size === 0) this.#accounts.delete(view.account);
  }

  /** Removes those that were last used before, or then. */
  unusedSince(moment: number): VisibleNamespaces[] {
    const unused: VisibleNamespaces[] = [];
    for (const { views } of this.#accounts.values())
      for (const [view, { usedAt }] of views) {
        if (usedAt > moment) break;
        unused.push(view);
      }
    for (const view of unused) this.delete(view);
    return unused;
  }
}
