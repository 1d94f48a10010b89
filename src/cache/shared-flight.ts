/**
 * One piece of work per key at a time, shared by all who ask for it while it runs. Whoever leaves stops waiting; when
 * the last has left, the work is told to end, so that nothing is done for nobody.
 */
import { StatusError } from '../errors/status-error.ts';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly ending: AbortController;
  waiting: number;
}

export class SharedFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /**
   * The result of the work under way for `key`, or of `work`, which is then started.
   *
   * @param signal aborted when the caller waits no more
   * @throws StatusError UpstreamUnavailable to who has left
   */
  async do(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw abandoned(signal);
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    const left = Promise.withResolvers<never>();
    const onLeave = (): void => left.reject(abandoned(signal));
    signal.addEventListener('abort', onLeave, { once: true });
    flight.waiting += 1;
    try {
      return await Promise.race([flight.result, left.promise]);
    } finally {
      signal.removeEventListener('abort', onLeave);
      flight.waiting -= 1;
      if (flight.waiting === 0) this.#end(key, flight);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const ending = new AbortController();
    const flight = { result: work(ending.signal), ending, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  /** Nobody may join a flight that has ended or is told to. */
  #end(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.ending.abort(new Error('nobody waits for it any more'));
  }
}

/** Nobody hears it; it says in the log why there was no answer. */
export function abandoned({ reason }: AbortSignal): StatusError {
  return new StatusError('UpstreamUnavailable', 'nobody waits for the answer any more', { cause: reason });
}
