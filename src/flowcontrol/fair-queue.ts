/**
 * A bounded waiting line that is fair between sources: they are served in turn, and when the line is full, the
 * newest of whoever holds the most places gives way to a source that holds fewer. One source may so fill the
 * line as long as it is alone, and cannot keep anybody out.
 * Longest-queue drop, as in RFC 8290 §4.1 (fq_codel).
 */

interface Line<T> {
  readonly source: string;
  readonly items: T[];
}

export interface FairQueue<T> {
  /**
   * Puts `item` at the end of its source's line.
   *
   * @returns who has no place: undefined where there was room, `item` itself, or one that had to give way
   */
  push(source: string, item: T): T | undefined;
  /** The next one, the sources in turn. */
  shift(): T | undefined;
  /** Takes out one that waits no more. */
  remove(source: string, item: T): void;
}

export function createFairQueue<T>(capacity: number): FairQueue<T> {
  const lines = new Map<string, Line<T>>();
  let size = 0;

  function longest(): Line<T> | undefined {
    let found: Line<T> | undefined;
    for (const line of lines.values()) if (line.items.length > (found?.items.length ?? 0)) found = line;
    return found;
  }

  function take(line: Line<T>, index: number): T | undefined {
    const [item] = line.items.splice(index, 1);
    if (item !== undefined) size -= 1;
    if (line.items.length === 0) lines.delete(line.source);
    return item;
  }

  /** The place that a source with `held` places gets from a full line, if any. */
  function makeRoom(held: number): { readonly evicted: T | undefined } | undefined {
    const line = longest();
    if (line === undefined || line.items.length <= held + 1) return undefined;
    return { evicted: take(line, line.items.length - 1) };
  }

  return {
    push(source, item) {
      let evicted: T | undefined;
      if (size >= capacity) {
        const room = makeRoom(lines.get(source)?.items.length ?? 0);
        if (room === undefined) return item;
        evicted = room.evicted;
      }
      const line = lines.get(source) ?? { source, items: [] };
      line.items.push(item);
      lines.set(source, line);
      size += 1;
      return evicted;
    },
    shift() {
      const line = lines.values().next().value;
      if (line === undefined) return undefined;
      // Its turn is over: to the end of the Map's order.
      lines.delete(line.source);
      lines.set(line.source, line);
      return take(line, 0);
    },
    remove(source, item) {
      const line = lines.get(source);
      const index = line?.items.indexOf(item) ?? -1;
      if (line !== undefined && index >= 0) take(line, index);
    },
  };
}
