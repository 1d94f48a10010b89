/**
 * Where one answer stands, whatever protocol carries it: still open, complete, or abandoned by its client.
 * Writers change it, the exchange shows it as signals, and a listener that stops tells it to come to an end.
 */

export class AnswerState {
  readonly #open: Set<AnswerState>;
  readonly #gone = new AbortController();
  #draining: AbortController | undefined;
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

  /** Aborted when the client leaves before the answer is complete. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Aborted when the listener stops. Made on demand: few answers ask. */
  get draining(): AbortSignal {
    this.#draining ??= new AbortController();
    if (this.#drained) this.#draining.abort();
    return this.#draining.signal;
  }

  get closed(): boolean {
    return this.#complete || this.#gone.signal.aborted;
  }

  complete(): void {
    this.#complete = true;
    this.#open.delete(this);
  }

  abandon(): void {
    if (this.closed) return;
    this.#open.delete(this);
    this.#gone.abort();
  }

  drain(): void {
    this.#drained = true;
    this.#draining?.abort();
  }
}
