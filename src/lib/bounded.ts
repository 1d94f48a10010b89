/**
 * Work on many things, a few at a time: enough to be quick, not so many that a server has nothing else to do.
 */

/**
 * @param limit how many run at once
 * @returns the results in the order of the items
 * @throws what the first failing piece of work throws, once those under way have ended; no further one is begun then
 */
export async function bounded<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Map<number, R>();
  const queue = items.entries();
  let failed = false;
  async function worker(): Promise<void> {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        results.set(index, await work(item));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  }
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return [...results].sort(([one], [other]) => one - other).map(([, result]) => result);
}
