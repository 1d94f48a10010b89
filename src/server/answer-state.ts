/**
 * Where one answer stands, whatever protocol carries it: still open, complete, or abandoned by its client.
 * Writers change it, the exchange shows it as signals, and a listener that stops tells it to come to an end.
 */
import type { Leaving } from '../lib/leaving.ts';

export class AnswerState implements Leaving {
  readonly #open: Set<AnswerState>;
  #callbacks: (() => void)[] | undefined;
  #gone: AbortController | undefined;
  #draining: AbortController | undefined;
  #left = false;
  #drained: boolean;
  #complete = false;

  /**
   * @param open the listener's answers that are not complete; this one is in it until it is
   * @param draining whether the listener has begun to stop
   */
  constructor(open: Set<AnswerState>, draining: boolean) {
    this.#open = open;
    this.#drained = draining;
    open.add(this);
  }

  /** Aborted when the client leaves before the answer is complete. Made on demand, as the other is. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#left) this.#gone.abort();
    return this.#gone.signal;
  }

  /** Aborted when the listener stops. */
  get draining(): AbortSignal {
    this.#draining ??= new AbortController();
    if (this.#drained) this.#draining.abort();
    return this.#draining.signal;
  }

  /** Whether the client left before the answer was complete. */
  get left(): boolean {
    return this.#left;
  }

  onLeave(callback: () => void): void {
    if (this.#left) return;
    this.#callbacks ??= [];
    this.#callbacks.push(callback);
  }

  offLeave(callback: () => void): void {
    const at = this.#callbacks?.indexOf(callback) ?? -1;
    if (at !== -1) this.#callbacks?.splice(at, 1);
  }

  get closed(): boolean {
    return this.#complete || this.#left;
  }

  complete(): void {
    this.#complete = true;
    this.#open.delete(this);
  }

  abandon(): void {
    if (this.closed) return;
    this.#left = true;
    this.#open.delete(this);
    this.#gone?.abort();
    for (const callback of this.#callbacks?.splice(0) ?? []) callback();
  }

  drain(): void {
    this.#drained = true;
    this.#draining?.abort();
  }
}
