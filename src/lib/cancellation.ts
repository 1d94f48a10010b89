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
