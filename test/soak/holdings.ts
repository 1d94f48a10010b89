/** What Stonegate's process holds when no client is connected, and whether that grows. */
import { setTimeout as pause } from 'node:timers/promises';

export interface Holdings {
  /** Bytes, after garbage collection. */
  readonly heap: number;
  /** Bytes. */
  readonly resident: number;
  /** TCP connections, but those of the admin listener: Prometheus and the soak test itself use it. */
  readonly connections: readonly string[];
  /** Timers that are set. */
  readonly timers: readonly string[];
  /** Descriptors of open files and sockets, but connections of the admin listener. */
  readonly descriptors: readonly string[];
}

/** The message to Stonegate's process. */
export interface MeasureRequest {
  readonly adminPort: number;
}

/** Without a client and a backend these return to the same numbers or fewer, whatever happened before. */
const COUNTS = ['timers', 'descriptors'] as const;

/** Memory may be so much more than after the first round: caches fill, and the heap is fragmented. */
const HEAP = { factor: 1.25, bytes: 12 * 2 ** 20 };
const RESIDENT = { factor: 1.5, bytes: 64 * 2 ** 20 };

/** Milliseconds between two measurements, and for which attempts to connect may end and pages be freed. */
const INTERVAL = 500;
const TIMEOUT = 60_000;
/** Measurements after the first round, of which the lowest counts. */
const OF_FIRST = 10;

/**
 * The lowest of several measurements: attempts to connect come and go, memory is given back; a leak stays.
 * @param first the result for the first round: measuring ends as soon as nothing has grown since
 */
export async function lowest(measure: () => Promise<Holdings>, first?: Holdings): Promise<Holdings> {
  const until = Date.now() + TIMEOUT;
  let least = await measure();
  for (let times = 1; Date.now() < until; times += 1) {
    const enough = first !== undefined || times >= OF_FIRST;
    if (enough && growth(first ?? least, least).length === 0) break;
    await pause(INTERVAL);
    least = lower(least, await measure());
  }
  return least;
}

function lower(one: Holdings, other: Holdings): Holdings {
  const shorter = (part: 'connections' | (typeof COUNTS)[number]): readonly string[] =>
    other[part].length < one[part].length ? other[part] : one[part];
  return {
    heap: Math.min(one.heap, other.heap),
    resident: Math.min(one.resident, other.resident),
    connections: shorter('connections'),
    timers: shorter('timers'),
    descriptors: shorter('descriptors'),
  };
}

function moreThan(last: Holdings, first: Holdings): (typeof COUNTS)[number][] {
  return COUNTS.filter((count) => last[count].length > first[count].length);
}

/** What was left behind or has grown since the first round, a line each. */
export function growth(first: Holdings, last: Holdings): string[] {
  const open = last.connections.map((connection) => `connection left open: ${connection}`);
  const counts = moreThan(last, first).map(
    (count) =>
      `${count}: ${last[count].length} instead of ${first[count].length}: ${added(first[count], last[count])}`,
  );
  const memory = [
    ['heap', HEAP],
    ['resident', RESIDENT],
  ] as const;
  const grown = memory.filter(([part, { factor, bytes }]) => last[part] > first[part] * factor + bytes);
  return [
    ...open,
    ...counts,
    ...grown.map(([part]) => `${part}: ${megabytes(last[part])} instead of ${megabytes(first[part])}`),
  ];
}

/** What `last` has more often. */
function added(first: readonly string[], last: readonly string[]): string {
  const rest = [...last];
  for (const name of first) {
    const at = rest.indexOf(name);
    if (at !== -1) rest.splice(at, 1);
  }
  return rest.join(', ');
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
