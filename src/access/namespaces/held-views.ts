/**
 * The visible namespaces that open watches hold: their memory counts against the user's tenant. A tenant
 * beyond its bound opens no further watch; four of them take the room of all.
 */
import { ByteBudget, type ByteBudgetOptions, type Reservation } from '../../lib/byte-budget.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

/** In all, and of each tenant. */
const BYTES: ByteBudgetOptions = { total: 128 * 1024 * 1024, perKey: 32 * 1024 * 1024 };

interface Holder {
  readonly bytesPerName: number;
  readonly onOverflow: () => void;
}

interface Held {
  readonly reservation: Reservation;
  readonly holders: Set<Holder>;
  readonly unsubscribe: () => void;
}

export class HeldViews {
  readonly #budget: ByteBudget;
  readonly #held = new Map<VisibleNamespaces, Held>();

  constructor(options: ByteBudgetOptions = BYTES) {
    this.#budget = new ByteBudget(options);
  }

  /** In bytes, as they are estimated. */
  get bytes(): number {
    return this.#budget.reserved;
  }

  has(view: VisibleNamespaces): boolean {
    return this.#held.has(view);
  }

  /** @param bytesPerName that the watch takes, beside the view */
  hasRoomFor(view: VisibleNamespaces, bytesPerName: number): boolean {
    const bytes = view.size * bytesPerName + (this.has(view) ? 0 : view.bytes);
    const release = this.#budget.reserve(view.account, bytes);
    release?.();
    return release !== undefined;
  }

  /**
   * @param onOverflow called once if there is no room for names that come later: the holder is to let go
   * @returns lets go, idempotent; undefined if there is no room
   */
  hold(view: VisibleNamespaces, bytesPerName: number, onOverflow: () => void): (() => void) | undefined {
    const held = this.#held.get(view) ?? this.#begin(view);
    const holder = { bytesPerName, onOverflow };
    held.holders.add(holder);
    if (!this.#resize(view, held)) {
      this.#release(view, held, holder);
      return undefined;
    }
    return () => this.#release(view, held, holder);
  }

  /** The holders are to let go. */
  end(view: VisibleNamespaces): void {
    for (const { onOverflow } of [...(this.#held.get(view)?.holders ?? [])]) onOverflow();
  }

  #begin(view: VisibleNamespaces): Held {
    const held: Held = {
      reservation: this.#budget.reservation(view.account),
      holders: new Set(),
      unsubscribe: view.subscribe({ changed() {}, decided: () => this.#decided(view, held) }),
    };
    this.#held.set(view, held);
    return held;
  }

  #decided(view: VisibleNamespaces, held: Held): void {
    if (!this.#resize(view, held)) this.end(view);
  }

  #resize(view: VisibleNamespaces, { holders, reservation }: Held): boolean {
    let perName = 0;
    for (const { bytesPerName } of holders) perName += bytesPerName;
    return reservation.resize(view.bytes + view.size * perName);
  }

  #release(view: VisibleNamespaces, held: Held, holder: Holder): void {
    if (!held.holders.delete(holder)) return;
    if (held.holders.size > 0) {
      this.#resize(view, held);
      return;
    }
    held.reservation.resize(0);
    held.unsubscribe();
    this.#held.delete(view);
  }
}
