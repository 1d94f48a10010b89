/**
 * Time and timers as an injected dependency, so that no test sleeps.
 */
import { untraced } from './request-trace.ts';

/** A started timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment in this process' past; unlike `now` it is never set. */
  monotonic(): number;
  /** Runs `action` once after `milliseconds`. The timer never keeps the process alive. */
  after(milliseconds: number, action: () => void): Timer;
}

/** The operating system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, action) {
    const timer = untraced(() => setTimeout(action, milliseconds));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Resolves after `milliseconds`, or as soon as the signal is aborted. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = clock.after(milliseconds, finish);
    function finish(): void {
      timer.cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    }
    signal.addEventListener('abort', finish);
  });
}

/** Milliseconds. */
const POLL_INTERVAL = 20;

/**
 * Waits until the condition holds, the time is over, or the signal is aborted.
 *
 * @returns whether the condition holds
 */
export async function waitUntil(
  condition: () => boolean,
  clock: Clock,
  milliseconds: number,
  signal: AbortSignal = NEVER,
): Promise<boolean> {
  const end = clock.now() + milliseconds;
  while (!condition() && clock.now() < end && !signal.aborted) await pause(clock, POLL_INTERVAL, signal);
  return condition();
}

const NEVER = new AbortController().signal;

/**
 * @param work is given a signal that is aborted after `milliseconds`, or with one of `signals`
 * @param late creates the reason, which is needed rarely
 */
export async function withDeadline<T>(
  clock: Clock,
  milliseconds: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
  ...signals: readonly AbortSignal[]
): Promise<T> {
  const deadline = new AbortController();
  const timer = clock.after(milliseconds, () => deadline.abort(late()));
  try {
    return await work(AbortSignal.any([deadline.signal, ...signals]));
  } finally {
    timer.cancel();
  }
}

/**
 * Waits for work that may ignore the signal: then it continues, and its result has no effect.
 *
 * @throws what the work is rejected with, or the reason of the signal as soon as that is aborted
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  reason: () => unknown = () => signal.reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(reason());
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * A timeout for a peer's silence. Node runs timers before it reads from sockets: a process that was busy
 * would find the time over although the response has arrived. So pending I/O is read first, and `cancel`
 * counts until `action` runs.
 * https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick
 */
export function afterPendingIO(clock: Clock, milliseconds: number, action: () => void): Timer {
  let immediate: NodeJS.Immediate | undefined;
  const timer = clock.after(milliseconds, () => {
    immediate = setImmediate(action);
  });
  return {
    cancel() {
      timer.cancel();
      clearImmediate(immediate);
    },
  };
}

/** Milliseconds after which the clock is read again. */
const LONGEST_WAIT = 3_600_000;

/**
 * Runs `action` once, as soon as the clock shows `moment`; always later than this call, even for a moment
 * that is past.
 *
 * @param moment in milliseconds since the epoch
 */
export function runAt(clock: Clock, moment: number, action: () => void): Timer {
  let timer: Timer;
  const wait = () => {
    const left = Math.max(0, moment - clock.now());
    timer = clock.after(Math.min(left, LONGEST_WAIT), () => (clock.now() < moment ? wait() : action()));
  };
  wait();
  return { cancel: () => timer.cancel() };
}
