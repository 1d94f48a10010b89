/**
 * Work on many items: asynchronous with bounded concurrency, and synchronous with pauses.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * @param limit calls of `work` in flight
 * @returns the results in the order of the items
 * @throws the error of the first failed call, after those in flight have ended; no further call is made then
 */
export async function mapWithConcurrency<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  let failed = false;
  async function worker(): Promise<void> {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  }
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return results;
}

/**
 * Does long work in short parts, so that requests are served in between.
 *
 * @param perTurn items for which `work` is called before other events are handled
 */
export async function forEachInTurns<T>(
  items: Iterable<T>,
  perTurn: number,
  work: (item: T) => void,
): Promise<void> {
  let count = 0;
  for (const item of items) {
    work(item);
    count += 1;
    if (count % perTurn === 0) await nextTurn();
  }
}
