/**
 * Resident memory of one process after small GETs over HTTP/1.1 and then over HTTP/2, TLS on both sides, and
 * what of it V8 has reserved.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { keystoneToken } from './configuration.ts';
import type { ServingStonegate } from './contenders/stonegate.ts';
import { startStonegate } from './contenders/stonegate.ts';
import { loadFor } from './generator.ts';
import { h2load } from './h2load.ts';
import { SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { residentBytes } from './usage.ts';
import { wrk } from './wrk.ts';

export interface ResidentRow {
  readonly after: string;
  readonly residentMB: number;
  readonly heapMB: number;
}

const SECONDS = 20;
/** For work that a process does after its last response. */
const SETTLE_MS = 2_000;
const LOADS = [
  { after: 'HTTP/1.1', load: wrk, connections: SMALL.connections },
  { after: 'HTTP/2', load: h2load, connections: 8 },
] as const;

/** @param main `dist/main.js` of another build */
export async function measureResident(site: Site, main?: string): Promise<ResidentRow[]> {
  const serving = await startStonegate({ site, upstream: 'tls', name: 'resident', ...(main && { main }) });
  try {
    await pause(SETTLE_MS);
    const rows = [await rowOf(serving, 'start')];
    for (const { after, load, connections } of LOADS) {
      const { folder } = site;
      const { port } = serving;
      await loadFor(SECONDS, load, { path: SMALL.path, connections, tokens: [keystoneToken()], folder, port });
      await pause(SETTLE_MS);
      rows.push(await rowOf(serving, after));
    }
    return rows;
  } finally {
    await serving.stop();
  }
}

async function rowOf({ pid, adminPort }: ServingStonegate, after: string): Promise<ResidentRow> {
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const heap = Number(/^nodejs_heap_size_total_bytes (\d+)/m.exec(metrics)?.[1]);
  return { after, residentMB: residentBytes(pid) / 1e6, heapMB: heap / 1e6 };
}
