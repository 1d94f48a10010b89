/**
 * That somebody has left, told to those who asked. It says what an AbortSignal says; but an EventTarget's listeners cost
 * a request several microseconds, and each open watch several objects.
 */

export interface Leaving {
  readonly left: boolean;
  /** Calls back when it happens; never where it has happened already. */
  onLeave(callback: () => void): void;
  offLeave(callback: () => void): void;
}

export function leavingOf(signal: AbortSignal): Leaving {
  return {
    get left() {
      return signal.aborted;
    },
    onLeave: (callback) => signal.addEventListener('abort', callback, { once: true }),
    offLeave: (callback) => signal.removeEventListener('abort', callback),
  };
}

/** Told once by whichever comes first. */
export function firstOf(one: Leaving, other: Leaving): Leaving {
  return {
    get left() {
      return one.left || other.left;
    },
    onLeave(callback) {
      one.onLeave(callback);
      other.onLeave(callback);
    },
    offLeave(callback) {
      one.offLeave(callback);
      other.offLeave(callback);
    },
  };
}
