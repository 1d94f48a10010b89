/**
 * The memory of idle watches, both connections included, and the latency of an event from the upstream to the
 * client. All contenders have their watches open at once and receive events in turn, one for each watch
 * within a second. If time or open files do not suffice, fewer watches are measured.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { keystoneToken } from './configuration.ts';
import type { Contender } from './contenders/contender.ts';
import { passThrough } from './contenders/others.ts';
import { stonegate } from './contenders/stonegate.ts';
import { LOAD_CORE, program, type Running, type Serving, start } from './processes.ts';
import type { Site } from './site.ts';
import { median, type Spread, spreadOf } from './statistics.ts';
import { residentBytes } from './usage.ts';
import { until } from './waiting.ts';

export interface WatchRow {
  readonly contender: string;
  readonly transport: string;
  readonly watches: number;
  readonly idleMB: number;
  readonly openMB: number;
  readonly kilobytesPerWatch: number;
  /** Milliseconds, of the turns. */
  readonly p50: Spread;
  readonly p99: Spread;
  /** The median of how much more than the second contender's p99 it was in each turn; absent without one. */
  readonly p99Added?: number;
}

export const TRANSPORTS = [
  { transport: 'TLS in front, plain behind', upstream: 'plain', protocol: 'http1' },
  { transport: 'TLS on both sides', upstream: 'tls', protocol: 'http1' },
  { transport: 'HTTP/2 in front, TLS behind', upstream: 'tls', protocol: 'http2' },
] as const;
const OPENING_SECONDS = 60;
const OPENING_SECONDS_OF_MANY = 150;
const TURNS = 9;
/** The first turns are not counted: opening leaves garbage, and V8 still compiles. */
const FIRST_TURNS = 2;

/** Milliseconds to wait for the last events. */
const LATE_MS = 2_000;

/** Beside the pass-through, over each transport, which opens as many as Stonegate did, or fewer. */
export async function compareWatches(site: Site, watches: number): Promise<WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const way of TRANSPORTS)
    rows.push(...(await measureWatches(site, [stonegate, passThrough], way, watches, OPENING_SECONDS)));
  return rows;
}

/** Stonegate's alone, one number after the other. */
export async function growWatches(site: Site, numbers: readonly number[]): Promise<WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const number of numbers)
    rows.push(...(await measureWatches(site, [stonegate], TRANSPORTS[0], number, OPENING_SECONDS_OF_MANY)));
  return rows;
}

type Way = (typeof TRANSPORTS)[number];

interface Watching {
  readonly contender: string;
  readonly serving: Serving;
  readonly client: Running;
  readonly open: number;
  /** Bytes. */
  readonly idle: number;
}

/** Over one transport; each contender opens as many as the first did, or fewer. */
export async function measureWatches(
  site: Site,
  contenders: readonly Contender[],
  { transport, upstream, protocol }: Way,
  watches: number,
  opening: number,
): Promise<WatchRow[]> {
  const started: Running[] = [];
  try {
    const watching: Watching[] = [];
    let wanted = Math.min(watches, allowedByFiles());
    for (const contender of contenders) {
      const serving = await contender.start({ site, upstream, http2: protocol === 'http2' });
      started.push(serving);
      const idle = residentBytes(serving.pid);
      const words = [serving.port, contender.name, wanted, opening, keystoneToken(), protocol].map(String);
      const client = start(LOAD_CORE, [process.execPath, program('watches'), ...words]);
      started.push(client);
      wanted = await opened(client, 2 * opening);
      watching.push({ contender: contender.name, serving, client, open: wanted, idle });
    }
    await site.giveEvents(upstream, TURNS);
    await pause(LATE_MS);
    const held = watching.map(({ serving }) => residentBytes(serving.pid));
    const turns = await Promise.all(watching.map(turnsOf));
    return watching.map(({ contender, open, idle }, index) => {
      const [bytes = Number.NaN, own = []] = [held[index], turns[index]];
      return {
        contender,
        transport,
        watches: open,
        idleMB: idle / 1e6,
        openMB: bytes / 1e6,
        kilobytesPerWatch: (bytes - idle) / open / 1e3,
        p50: spreadOf(own.map(({ p50 }) => p50)),
        p99: spreadOf(own.map(({ p99 }) => p99)),
        ...(contender === stonegate.name && contenders.length === 2 && { p99Added: addedOf(turns) }),
      };
    });
  } finally {
    for (const running of started.reverse()) await running.stop();
  }
}

async function opened(client: Running, patienceSeconds: number): Promise<number> {
  const look = () => /\{"open":(\d+)\}/.exec(client.output())?.[1];
  return Number(await until(client, look, patienceSeconds * 1_000));
}

/** @param turns of Stonegate and of the second contender */
function addedOf([ours = [], theirs = []]: readonly Turn[][]): number {
  return median(ours.map(({ p99 }, turn) => p99 - (theirs[turn]?.p99 ?? Number.NaN)));
}

interface Turn {
  readonly events: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Closes the watches. @throws where one has missed an event */
async function turnsOf({ client, open }: Watching): Promise<Turn[]> {
  client.signal('SIGINT');
  await client.closed();
  const [said] = /\{"turns".*\}/.exec(client.output()) ?? [];
  if (said === undefined) throw new Error(`no turns:\n${client.output()}`);
  const { turns }: { turns: (Turn | null)[] } = JSON.parse(said);
  const whole = turns.filter((turn) => turn !== null).filter(({ events }) => events === open);
  if (whole.length < TURNS) throw new Error(`events are missing:\n${said}`);
  return whole.slice(FIRST_TURNS);
}

const OTHER_FILES = 200;

/**
 * Each watch takes a proxy two files: its client's connection and its own. Node takes all the files it is
 * let.
 */
function allowedByFiles(): number {
  const [, limit] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.floor((Number(limit) - OTHER_FILES) / 2);
}
