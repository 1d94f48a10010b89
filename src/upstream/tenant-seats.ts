/**
 * How many of the connections for brief requests each tenant holds: so many that one alone never keeps the others from the
 * API server, whatever it sends slowly or reads slowly. Whoever finds no seat waits in their own tenant's line, which is
 * in nobody else's way. Bulkheads, as in kube-apiserver's priority levels:
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import type { Clock } from '../lib/clock.ts';
import { Round, Wait } from '../lib/round.ts';

export interface SeatOptions {
  readonly clock: Clock;
  /** Of each tenant. */
  readonly seats: number;
  /** Milliseconds that a request waits for one. */
  readonly patience: number;
}

/** Who waits for a seat. Exactly one of the two is called, once; neither where the wait was stopped before. */
export interface SeatSeeker {
  /** It has a seat from now on, and gives it back. */
  onSeat(): void;
  onNoSeat(): void;
}

export interface SeatWait {
  stop(): void;
}

/** From so many tenants on, those who have nothing under way are forgotten. */
const MANY_TENANTS = 10_000;

export class TenantSeats {
  readonly #options: SeatOptions;
  readonly #tenants = new Map<string, SeatsOfTenant>();
  #sweepAt = MANY_TENANTS;

  constructor(options: SeatOptions) {
    this.#options = options;
  }

  /** @returns what is to be used at once: what nobody uses may be forgotten when another tenant comes */
  of(tenant: string): SeatsOfTenant {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    if (this.#tenants.size >= this.#sweepAt) this.#sweep();
    const made = new SeatsOfTenant(this.#options);
    this.#tenants.set(tenant, made);
    return made;
  }

  /** How many tenants are known. */
  get size(): number {
    return this.#tenants.size;
  }

  #sweep(): void {
    for (const [tenant, { unused }] of this.#tenants) if (unused) this.#tenants.delete(tenant);
    // Where nearly all are in use, the next sweep has to be worth it again.
    this.#sweepAt = Math.max(MANY_TENANTS, this.#tenants.size * 2);
  }
}

export class SeatsOfTenant {
  readonly #line: Round;
  readonly #seats: number;
  #taken = 0;
  #seating = false;

  constructor({ clock, seats, patience }: SeatOptions) {
    this.#line = new Round(clock, patience);
    this.#seats = seats;
  }

  get taken(): number {
    return this.#taken;
  }

  get unused(): boolean {
    return this.#taken === 0 && this.#line.empty;
  }

  /** @returns whether there was a seat, which is to be given back; else there is a line to wait in */
  take(): boolean {
    if (this.#taken >= this.#seats || !this.#line.empty) return false;
    this.#taken += 1;
    return true;
  }

  wait(seeker: SeatSeeker): SeatWait {
    const wait = new SeekerWait(this.#line, seeker);
    this.#line.join(wait);
    return wait;
  }

  giveBack(): void {
    this.#taken -= 1;
    // Whoever is seated and fails at once gives back from within: a loop, since the line may be longer than the stack.
    if (this.#seating || this.#line.empty) return;
    this.#seating = true;
    try {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        next.stop();
        this.#taken += 1;
        next.seeker.onSeat();
      }
    } finally {
      this.#seating = false;
    }
  }

  /** Who has waited longest, where there is a seat. */
  #next(): SeekerWait | undefined {
    const { first } = this.#line;
    return this.#taken < this.#seats && first instanceof SeekerWait ? first : undefined;
  }
}

class SeekerWait extends Wait implements SeatWait {
  readonly seeker: SeatSeeker;
  readonly #line: Round;
  readonly #until: number;

  constructor(line: Round, seeker: SeatSeeker) {
    super();
    this.seeker = seeker;
    this.#line = line;
    this.#until = line.clock.now() + line.milliseconds;
  }

  stop(): void {
    this.unlink();
    if (this.#line.empty) this.#line.stop();
  }

  look(now: number): number {
    const left = this.#until - now;
    if (left > 0) return left;
    this.stop();
    this.seeker.onNoSeat();
    return this.#line.milliseconds;
  }
}
