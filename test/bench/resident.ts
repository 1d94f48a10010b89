/** Resident memory of one process after small GETs over HTTP/1.1 and then over HTTP/2, TLS on both sides. */
import { setTimeout as pause } from 'node:timers/promises';
import { keystoneToken } from './configuration.ts';
import type { Contender } from './contenders/contender.ts';
import { h2load } from './h2load.ts';
import { SMALL } from './scenarios.ts';
import type { Site } from './site.ts';
import { residentBytes } from './usage.ts';
import { wrk } from './wrk.ts';

export interface ResidentRow {
  readonly contender: string;
  readonly after: string;
  readonly residentMB: number;
}

/** Of each load: V8 has collected the old generation several times by then. */
const REQUESTS = 100_000;
/** For work that a process does after its last response. */
const SETTLE_MS = 2_000;
const LOADS = [
  { after: 'HTTP/1.1', load: wrk, connections: SMALL.connections },
  { after: 'HTTP/2', load: h2load, connections: 8 },
] as const;

/** Starts without its peers: what another process does to memory is none of its own. */
export async function measureResident(site: Site, contender: Contender): Promise<ResidentRow[]> {
  const serving = await contender.start({ site, upstream: 'tls', http2: true });
  try {
    await pause(SETTLE_MS);
    const row = (after: string) => ({
      contender: contender.name,
      after,
      residentMB: residentBytes(serving.pid) / 1e6,
    });
    const rows = [row('start')];
    for (const { after, load, connections } of LOADS) {
      const shape = { path: SMALL.path, connections, tokens: [keystoneToken()] };
      const generator = await load({ ...shape, folder: site.folder, port: serving.port });
      try {
        await untilSeen(site, (await site.counts()).requests + REQUESTS);
        await generator.finish();
      } finally {
        generator.kill();
      }
      await pause(SETTLE_MS);
      rows.push(row(after));
    }
    return rows;
  } finally {
    await serving.stop();
  }
}

async function untilSeen(site: Site, requests: number): Promise<void> {
  while ((await site.counts()).requests < requests) await pause(100);
}
