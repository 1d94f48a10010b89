/**
 * 5,000 idle watches with an event each a second: what they hold of memory, with both connections counted, and how long
 * an event is on its way from the upstream's writing to the client's reading. A machine that opens fewer in the time
 * given measures with fewer, as many for both contenders.
 */
import process from 'node:process';
import { passThrough, stonegate } from './contenders.ts';
import { LOAD_CORE, program, residentBytes, start, until } from './processes.ts';
import { keystoneToken, type Site } from './site.ts';

export interface WatchRow {
  readonly contender: string;
  readonly transport: string;
  readonly watches: number;
  readonly idleMB: number;
  readonly openMB: number;
  readonly kilobytesPerWatch: number;
  readonly p50: number;
  readonly p99: number;
}

const OPENING_SECONDS = 20;

const TRANSPORTS = [
  { transport: 'TLS in front, plain behind', upstream: 'plain', protocol: 'http1' },
  { transport: 'TLS on both sides', upstream: 'tls', protocol: 'http1' },
  { transport: 'HTTP/2 in front, TLS behind', upstream: 'tls', protocol: 'http2' },
] as const;

export async function measureWatches(site: Site, watches: number, seconds: number): Promise<WatchRow[]> {
  const rows: WatchRow[] = [];
  for (const { transport, upstream, protocol } of TRANSPORTS) {
    let wanted = watches;
    let opening = OPENING_SECONDS;
    for (const contender of [stonegate, passThrough]) {
      const serving = await contender.start({ site, upstream, http2: protocol === 'http2' });
      try {
        const idle = residentBytes(serving.pid);
        const words = [serving.port, wanted, opening, seconds, keystoneToken(), protocol].map(String);
        const client = start(LOAD_CORE, [process.execPath, program('watches'), ...words]);
        try {
          const opened = await until(client, () => /\{"open":(\d+)\}/.exec(client.output())?.[1]);
          const open = Number(opened);
          // The other must come to the same number.
          wanted = open;
          opening = 2 * OPENING_SECONDS;
          const said = await until(client, () => /\{"events".*\}/.exec(client.output())?.[0]);
          const { p50, p99 }: { p50: number; p99: number } = JSON.parse(said);
          const resident = residentBytes(serving.pid);
          rows.push({
            contender: contender.name,
            transport,
            watches: open,
            idleMB: idle / 1e6,
            openMB: resident / 1e6,
            kilobytesPerWatch: (resident - idle) / open / 1e3,
            p50,
            p99,
          });
        } finally {
          await client.stop();
        }
      } finally {
        await serving.stop();
      }
    }
  }
  return rows;
}
