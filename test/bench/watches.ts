/**
 * Idle watches with an event each a second: what they hold of memory, with both connections counted, and how long an event
 * is on its way from the upstream's writing to the client's reading. A machine that opens fewer in the time given, or has
 * not the files, measures with fewer.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { keystoneToken } from './configuration.ts';
import type { Contender } from './contenders/contender.ts';
import { passThrough } from './contenders/node.ts';
import { stonegate } from './contenders/stonegate.ts';
import { LOAD_CORE, program, type Serving, start } from './processes.ts';
import type { Site } from './site.ts';
import { residentBytes } from './usage.ts';
import { until } from './waiting.ts';

export interface WatchRow {
  readonly contender: string;
  readonly transport: string;
  readonly watches: number;
  readonly idleMB: number;
  readonly openMB: number;
  readonly kilobytesPerWatch: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const TRANSPORTS = [
  { transport: 'TLS in front, plain behind', upstream: 'plain', protocol: 'http1' },
  { transport: 'TLS on both sides', upstream: 'tls', protocol: 'http1' },
  { transport: 'HTTP/2 in front, TLS behind', upstream: 'tls', protocol: 'http2' },
] as const;
const OPENING_SECONDS = 30;
const OPENING_SECONDS_OF_MANY = 150;
const MEASURED_SECONDS = 4;

/** Beside the pass-through, over each transport, with as many for both. */
export async function compareWatches(site: Site, watches: number): Promise<WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const way of TRANSPORTS) {
    const ours = await measureWatches(site, stonegate, way, watches, OPENING_SECONDS);
    rows.push(ours);
    rows.push(await measureWatches(site, passThrough, way, ours.watches, 2 * OPENING_SECONDS));
  }
  return rows;
}

/** Stonegate's alone, one number after the other. */
export async function growWatches(site: Site, numbers: readonly number[]): Promise<WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const number of numbers)
    rows.push(await measureWatches(site, stonegate, TRANSPORTS[0], number, OPENING_SECONDS_OF_MANY));
  return rows;
}

type Way = (typeof TRANSPORTS)[number];

async function measureWatches(
  site: Site,
  contender: Contender,
  { transport, upstream, protocol }: Way,
  watches: number,
  opening: number,
): Promise<WatchRow> {
  const serving = await contender.start({ site, upstream, http2: protocol === 'http2' });
  try {
    const idle = residentBytes(serving.pid);
    const wanted = Math.min(watches, allowedByFiles());
    const { open, p50, p99 } = await openWatches(serving, protocol, wanted, opening);
    return {
      contender: contender.name,
      transport,
      watches: open,
      idleMB: idle / 1e6,
      openMB: residentBytes(serving.pid) / 1e6,
      kilobytesPerWatch: (residentBytes(serving.pid) - idle) / open / 1e3,
      p50,
      p99,
    };
  } finally {
    await serving.stop();
  }
}

async function openWatches(serving: Serving, protocol: Way['protocol'], wanted: number, opening: number) {
  const words = [serving.port, wanted, opening, MEASURED_SECONDS, keystoneToken(), protocol].map(String);
  const client = start(LOAD_CORE, [process.execPath, program('watches'), ...words]);
  try {
    const patience = 2 * opening * 1_000;
    const open = await until(client, () => /\{"open":(\d+)\}/.exec(client.output())?.[1], patience);
    const said = await until(client, () => /\{"events".*\}/.exec(client.output())?.[0]);
    const { p50, p99 }: { p50: number; p99: number } = JSON.parse(said);
    return { open: Number(open), p50, p99 };
  } finally {
    await client.stop();
  }
}

const OTHER_FILES = 200;

/** Each watch takes a proxy two files: its client's connection and its own. Node takes all the files it is let. */
function allowedByFiles(): number {
  const [, limit] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.floor((Number(limit) - OTHER_FILES) / 2);
}
