/**
 * The state of one response in either protocol: open, complete, or cancelled because its client disconnected.
 * Response writers change it, exchanges expose it as signals, and a listener that stops drains it.
 */
import type { Cancellation } from '../lib/cancellation.ts';
import { ListNode } from '../lib/linked-list.ts';

/** The responses of a listener that are not complete. */
export class OpenResponses {
  readonly #list = new ListNode();

  add(response: ResponseState): void {
    response.insertBefore(this.#list);
  }

  drain(): void {
    for (const node of [...this.#list.others()]) if (node instanceof ResponseState) node.drain();
  }
}

export class ResponseState extends ListNode implements Cancellation {
  /** Most responses have one callback: no array is allocated for it. */
  #callback: (() => void) | undefined;
  #moreCallbacks: (() => void)[] | undefined;
  #cancel: AbortController | undefined;
  #drain: AbortController | undefined;
  #cancelled = false;
  #draining: boolean;
  #complete = false;

  /**
   * @param open contains this response until it is complete
   * @param draining whether the listener has begun to stop
   */
  constructor(open: OpenResponses, draining: boolean) {
    super();
    this.#draining = draining;
    open.add(this);
  }

  /**
   * Aborted if the client disconnects before the response is complete. Created on first use, like `draining`.
   */
  get signal(): AbortSignal {
    this.#cancel ??= new AbortController();
    if (this.#cancelled) this.#cancel.abort();
    return this.#cancel.signal;
  }

  /** Aborted when the listener stops. */
  get draining(): AbortSignal {
    this.#drain ??= new AbortController();
    if (this.#draining) this.#drain.abort();
    return this.#drain.signal;
  }

  /** Whether the client disconnected before the response was complete. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  onCancel(callback: () => void): void {
    if (this.#cancelled) return;
    if (this.#callback === undefined) this.#callback = callback;
    else if (this.#moreCallbacks === undefined) this.#moreCallbacks = [callback];
    else this.#moreCallbacks.push(callback);
  }

  offCancel(callback: () => void): void {
    if (this.#callback === callback) {
      this.#callback = undefined;
      return;
    }
    const index = this.#moreCallbacks?.indexOf(callback) ?? -1;
    if (index !== -1) this.#moreCallbacks?.splice(index, 1);
  }

  get closed(): boolean {
    return this.#complete || this.#cancelled;
  }

  complete(): void {
    this.#complete = true;
    this.unlink();
  }

  cancel(): void {
    if (this.#complete || this.#cancelled) return;
    this.#cancelled = true;
    this.unlink();
    this.#cancel?.abort();
    const callbacks = [this.#callback, ...(this.#moreCallbacks ?? [])];
    this.#callback = undefined;
    this.#moreCallbacks = undefined;
    for (const callback of callbacks) callback?.();
  }

  drain(): void {
    this.#draining = true;
    this.#drain?.abort();
  }
}
