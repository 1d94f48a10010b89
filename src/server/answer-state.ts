/**
 * Where one answer stands, whatever protocol carries it: still open, complete, or abandoned by its client.
 * Writers change it, the exchange shows it as signals, and a listener that stops tells it to come to an end.
 */
import type { Cancellation } from '../lib/cancellation.ts';
import { ListNode } from '../lib/linked-list.ts';

/** The listener's answers that are not complete. */
export class OpenAnswers {
  readonly #list = new ListNode();

  add(answer: AnswerState): void {
    answer.insertBefore(this.#list);
  }

  drain(): void {
    for (const place of [...this.#list.others()]) if (place instanceof AnswerState) place.drain();
  }
}

export class AnswerState extends ListNode implements Cancellation {
  /** As a rule there is one. */
  #callback: (() => void) | undefined;
  #others: (() => void)[] | undefined;
  #gone: AbortController | undefined;
  #draining: AbortController | undefined;
  #cancelled = false;
  #drained: boolean;
  #complete = false;

  /**
   * @param open this one is among them until it is complete
   * @param draining whether the listener has begun to stop
   */
  constructor(open: OpenAnswers, draining: boolean) {
    super();
    this.#drained = draining;
    open.add(this);
  }

  /** Aborted when the client leaves before the answer is complete. Made on demand, as `draining` is. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#cancelled) this.#gone.abort();
    return this.#gone.signal;
  }

  /** Aborted when the listener stops. */
  get draining(): AbortSignal {
    this.#draining ??= new AbortController();
    if (this.#drained) this.#draining.abort();
    return this.#draining.signal;
  }

  /** Whether the client left before the answer was complete. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  onCancel(callback: () => void): void {
    if (this.#cancelled) return;
    if (this.#callback === undefined) this.#callback = callback;
    else if (this.#others === undefined) this.#others = [callback];
    else this.#others.push(callback);
  }

  offCancel(callback: () => void): void {
    if (this.#callback === callback) {
      this.#callback = undefined;
      return;
    }
    const at = this.#others?.indexOf(callback) ?? -1;
    if (at !== -1) this.#others?.splice(at, 1);
  }

  get closed(): boolean {
    return this.#complete || this.#cancelled;
  }

  complete(): void {
    this.#complete = true;
    this.unlink();
  }

  abandon(): void {
    if (this.#complete || this.#cancelled) return;
    this.#cancelled = true;
    this.unlink();
    this.#gone?.abort();
    const told = [this.#callback, ...(this.#others ?? [])];
    this.#callback = undefined;
    this.#others = undefined;
    for (const callback of told) callback?.();
  }

  drain(): void {
    this.#drained = true;
    this.#draining?.abort();
  }
}
