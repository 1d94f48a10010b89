/**
 * Mutual exclusion for work on one key: callers that ask while the work runs share its result, so that a
 * thousand requests with one unknown token become one request to the backend. After Go's
 * golang.org/x/sync/singleflight.
 */
import { unlessAborted } from './clock.ts';

export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** @returns the result of the running work for `key`, or of `work`, which is started then */
  do(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** The number of keys with running work. */
  get size(): number {
    return this.#running.size;
  }
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

/** A single flight whose callers can cancel. The work is aborted after the last of them has cancelled. */
export class CancellableSingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();
  readonly #cancelled: (signal: AbortSignal) => Error;

  /** @param cancelled the error that a caller gets whose signal is aborted */
  constructor(cancelled: (signal: AbortSignal) => Error) {
    this.#cancelled = cancelled;
  }

  /**
   * @param signal ends the caller's wait
   * @returns the result of the running work for `key`, or of `work`, which is started then
   */
  async do(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw this.#cancelled(signal);
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.callers += 1;
    try {
      return await unlessAborted(flight.result, signal, () => this.#cancelled(signal));
    } finally {
      flight.callers -= 1;
      if (flight.callers === 0) this.#end(key, flight);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const flight = { result: work(controller.signal), controller, callers: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  /** No caller joins a flight that has ended or is aborted. */
  #end(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.controller.abort(new Error('all callers have cancelled'));
  }
}
