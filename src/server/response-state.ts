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

  stop(): void {
    for (const node of [...this.#list.others()]) if (node instanceof ResponseState) node.stop();
  }
}

export class ResponseState extends ListNode implements Cancellation {
  /** Most responses have one callback: no array is allocated for it. */
  #callback: (() => void) | undefined;
  #moreCallbacks: (() => void)[] | undefined;
  #cancel: AbortController | undefined;
  #stop: AbortController | undefined;
  #cancelled = false;
  #stopping: boolean;
  #complete = false;

  /**
   * @param open contains this response until it is complete
   * @param stopping whether the listener has begun to stop
   */
  constructor(open: OpenResponses, stopping: boolean) {
    super();
    this.#stopping = stopping;
    open.add(this);
  }

  /**
   * Aborted if the client disconnects before the response is complete. Created on first use, like `stopping`.
   */
  get signal(): AbortSignal {
    this.#cancel ??= new AbortController();
    if (this.#cancelled) this.#cancel.abort();
    return this.#cancel.signal;
  }

  /** Aborted when the listener stops. */
  get stopping(): AbortSignal {
    this.#stop ??= new AbortController();
    if (this.#stopping) this.#stop.abort();
    return this.#stop.signal;
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

  stop(): void {
    this.#stopping = true;
    this.#stop?.abort();
  }
}
