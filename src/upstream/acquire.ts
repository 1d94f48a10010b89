/**
 * Waits for a slot of an account's limiter, for requests that are not sent over the connection pool.
 */
import type { KeyLimiter } from './key-limiter.ts';

/**
 * @param bytes that the request holds while it waits
 * @param signal aborted if the client waits no more
 * @returns whether there is a slot to be released; not if the client has left
 * @throws StatusError if the queue is full, or the request has waited too long
 */
export async function acquire(limiter: KeyLimiter, bytes: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (limiter.tryAcquire()) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const queued = limiter.enqueue({ onAcquired: () => resolve(true), onRefused: reject }, bytes);
  if (queued === undefined) throw limiter.full;
  const onLeave = (): void => {
    queued.stop();
    resolve(false);
  };
  signal.addEventListener('abort', onLeave, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onLeave);
  }
}
