/**
 * A cancellation that components subscribe to: what an `AbortSignal` is, without an `EventTarget`. Its
 * listeners cost a request several microseconds, and each open watch several objects.
 */

export interface Cancellation {
  readonly cancelled: boolean;
  /** Calls back at the cancellation; never if it has happened already. */
  onCancel(callback: () => void): void;
  offCancel(callback: () => void): void;
}

export function fromAbortSignal(signal: AbortSignal): Cancellation {
  return {
    get cancelled() {
      return signal.aborted;
    },
    onCancel: (callback) => signal.addEventListener('abort', callback, { once: true }),
    offCancel: (callback) => signal.removeEventListener('abort', callback),
  };
}

/** Cancelled as soon as one of the two is. Both call back: the callback must be idempotent. */
export function anyOf(one: Cancellation, other: Cancellation): Cancellation {
  return {
    get cancelled() {
      return one.cancelled || other.cancelled;
    },
    onCancel(callback) {
      one.onCancel(callback);
      other.onCancel(callback);
    },
    offCancel(callback) {
      one.offCancel(callback);
      other.offCancel(callback);
    },
  };
}

/** A cancellation by its owner. */
export class CancellationSource implements Cancellation {
  /** Most have one callback: no Set is allocated for it. */
  #callback: (() => void) | undefined;
  #moreCallbacks: Set<() => void> | undefined;
  #controller: AbortController | undefined;
  #cancelled = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** The cancellation as an `AbortSignal`, created on first use. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  onCancel(callback: () => void): void {
    if (this.#cancelled) return;
    if (this.#callback === undefined) this.#callback = callback;
    else {
      this.#moreCallbacks ??= new Set();
      this.#moreCallbacks.add(callback);
    }
  }

  offCancel(callback: () => void): void {
    if (this.#callback === callback) this.#callback = undefined;
    else this.#moreCallbacks?.delete(callback);
  }

  /** Idempotent. */
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#controller?.abort();
    const callbacks = [this.#callback, ...(this.#moreCallbacks ?? [])];
    this.#callback = undefined;
    this.#moreCallbacks = undefined;
    for (const callback of callbacks) callback?.();
  }
}
