/**
 * Long work of the only thread in short parts, so that requests are served in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
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
