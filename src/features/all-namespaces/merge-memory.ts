/**
 * Memory of a list while it is merged. A small list takes what it needs; a larger one grows in its tenant's
 * turn, so that concurrent large lists follow one another instead of failing together. A list that waits for
 * its turn, or for memory, holds none.
 */
import { cancelled, StatusError } from '../../errors/status-error.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { ByteBudget, Reservation } from '../../limits/byte-budget.ts';
import { KeyedSemaphore, type Semaphore } from '../../limits/keyed-semaphore.ts';
import { MAX_MERGED_LIST, SMALL_MERGED_LIST } from '../../limits/memory-bounds.ts';

/** Milliseconds for which a list waits for its turn, and again for memory in its turn. */
const MAX_WAIT = 30_000;
/** Lists of a tenant that wait for their turn. */
const QUEUE_OF_TENANT = 16;
const QUEUES = 16;

/** One for the process: each tenant has one turn. */
export function createMergeTurns(clock: Clock): KeyedSemaphore {
  return new KeyedSemaphore({
    clock,
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: 1,
    queue: QUEUES * QUEUE_OF_TENANT,
    queuePerKey: QUEUE_OF_TENANT,
    queueTimeout: MAX_WAIT,
    refusal: tooManyLists,
  });
}

export interface MergeMemoryOptions {
  /** The memory of all responses that Stonegate makes. */
  readonly memory: ByteBudget;
  readonly turns: KeyedSemaphore;
  readonly clock: Clock;
}

/** There is no room now: the list gives up what it has, calls `wait`, and begins anew. */
export class NoRoom extends Error {
  readonly bytes: number;

  /** @param bytes that the list needs, as far as it knows */
  constructor(bytes: number) {
    super(`no room for ${bytes} bytes of a merged list`);
    this.bytes = bytes;
  }
}

/** The memory of one list. */
export class MergeMemory {
  readonly #options: MergeMemoryOptions;
  readonly #tenant: string;
  readonly #reservation: Reservation;
  #turn: Semaphore | undefined;
  #used = 0;

  constructor(options: MergeMemoryOptions, tenant: string) {
    this.#options = options;
    this.#tenant = tenant;
    this.#reservation = options.memory.reservation(tenant);
  }

  get hasTurn(): boolean {
    return this.#turn !== undefined;
  }

  /** @throws NoRoom; StatusError ListTooLarge */
  take(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed > MAX_MERGED_LIST) throw listTooLarge();
    if (!this.#mayHave(needed) || !this.#reserve(needed)) throw new NoRoom(needed);
    this.#used = needed;
  }

  /** Throw it if the tenant has no room for another reason. */
  noRoom(): NoRoom {
    return new NoRoom(this.#used);
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
    this.#reservation.resize(this.#used);
  }

  /**
   * Gives back all memory; resolves when the turn is this list's and has room for what it needs.
   *
   * @throws StatusError TenantRateExceeded; UpstreamUnavailable if the signal is aborted
   */
  async wait({ bytes }: NoRoom, signal: AbortSignal): Promise<void> {
    const { memory, turns, clock } = this.#options;
    this.giveBack(this.#used);
    if (this.#turn === undefined) {
      const turn = turns.of(this.#tenant);
      if (await turn.acquire(signal)) this.#turn = turn;
    }
    const until = clock.now() + MAX_WAIT;
    while (!signal.aborted && !this.#reserve(bytes)) {
      if (clock.now() >= until) throw tooManyLists();
      await pause(clock, until - clock.now(), AbortSignal.any([signal, memory.nextRelease]));
    }
    if (signal.aborted) throw cancelled(signal);
  }

  /** Gives back all memory and the turn. */
  release(): void {
    this.giveBack(this.#used);
    this.#endTurn();
  }

  /**
   * Ends the turn of a list that is merged: the response takes as much memory as its parts.
   *
   * @returns gives back the memory of the response
   */
  merged(): () => void {
    this.giveBack(0);
    this.#endTurn();
    return this.#reservation.release;
  }

  #mayHave(bytes: number): boolean {
    if (bytes <= SMALL_MERGED_LIST || this.hasTurn) return true;
    const turn = this.#options.turns.of(this.#tenant);
    if (turn.tryAcquire()) this.#turn = turn;
    return this.hasTurn;
  }

  /** A large list leaves room for small ones. */
  #reserve(bytes: number): boolean {
    const spare = bytes > SMALL_MERGED_LIST ? SMALL_MERGED_LIST : 0;
    return bytes <= this.#reservation.bytes || this.#reservation.resize(bytes, spare);
  }

  #endTurn(): void {
    this.#turn?.release();
    this.#turn = undefined;
  }
}

function tooManyLists(): StatusError {
  return new StatusError(
    'TenantRateExceeded',
    'Too many requests, please try again later: too many large lists are merged at once',
  );
}

export function listTooLarge(cause?: unknown): StatusError {
  return new StatusError(
    'ListTooLarge',
    `the list of all your namespaces is too large to be merged: request it in pages (limit), or one namespace (-n NAMESPACE)`,
    { cause },
  );
}
