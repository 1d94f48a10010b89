/** What Stonegate's process holds when no client is connected, and whether that grows. */
import { setTimeout as pause } from 'node:timers/promises';

export interface Holdings {
  /** Bytes, after garbage collection. */
  readonly heap: number;
  /** Bytes. */
  readonly resident: number;
  readonly sockets: number;
  readonly timers: number;
  readonly descriptors: number;
}

/** Without a client and a backend these return to the same numbers or fewer, whatever happened before. */
const COUNTS = ['sockets', 'timers', 'descriptors'] as const;

/** Memory may be so much more than after the first round: caches fill, and the heap is fragmented. */
const HEAP = { factor: 1.25, bytes: 12 * 2 ** 20 };
const RESIDENT = { factor: 1.5, bytes: 64 * 2 ** 20 };

/** Milliseconds between two measurements, and for which they are repeated. */
const INTERVAL = 500;
const TIMEOUT = 60_000;
/** Attempts to connect come and go: this many measurements in a row have the same counts without one. */
const IN_A_ROW = 4;

/** Measures until the counts stay as they are. */
export async function whenSteady(measure: () => Promise<Holdings>): Promise<Holdings> {
  const until = Date.now() + TIMEOUT;
  let last = await measure();
  for (let same = 1; same < IN_A_ROW && Date.now() < until; ) {
    await pause(INTERVAL);
    const next = await measure();
    same = haveSameCounts(next, last) ? same + 1 : 1;
    last = next;
  }
  return last;
}

/** Measures until no count is above that of the first round. */
export async function whenAsBefore(measure: () => Promise<Holdings>, first: Holdings): Promise<Holdings> {
  const until = Date.now() + TIMEOUT;
  let last = await measure();
  while (moreThan(last, first).length > 0 && Date.now() < until) {
    await pause(INTERVAL);
    last = await measure();
  }
  return last;
}

function moreThan(last: Holdings, first: Holdings): (typeof COUNTS)[number][] {
  return COUNTS.filter((count) => last[count] > first[count]);
}

function haveSameCounts(one: Holdings, other: Holdings): boolean {
  return COUNTS.every((count) => one[count] === other[count]);
}

/** What has grown since the first round, a line each. */
export function growth(first: Holdings, last: Holdings): string[] {
  const counts = moreThan(last, first).map((count) => `${count}: ${last[count]} instead of ${first[count]}`);
  const memory = [
    ['heap', HEAP],
    ['resident', RESIDENT],
  ] as const;
  const grown = memory.filter(([part, { factor, bytes }]) => last[part] > first[part] * factor + bytes);
  return [
    ...counts,
    ...grown.map(([part]) => `${part}: ${megabytes(last[part])} instead of ${megabytes(first[part])}`),
  ];
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
