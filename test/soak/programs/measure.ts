/**
 * Loaded into Stonegate's process before its program: on a message of the soak test it collects garbage and
 * tells what the process holds.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { queryObjects } from 'node:v8';
import type { Holdings, MeasureRequest } from '../holdings.ts';

const timer = setTimeout(() => {}, 0);
clearTimeout(timer);
const Timer = timer.constructor;

/** State of a socket that listens, as the kernel writes it. */
const LISTEN = '0A';
/** Node's own timers of a listener: one for each connection, and the cached Date header of its responses. */
const OF_LISTENERS: readonly string[] = ['onStreamTimeout', 'resetCache'];

process.on('message', ({ adminPort }: MeasureRequest) => {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const holdings: Holdings = { heap: heapUsed, resident: rss, timers: timers(), ...openFiles(adminPort) };
  process.send?.(holdings);
});
// If the soak test is killed, nothing is left behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));
// The channel does not hold the process.
process.channel?.unref();

/** Those that are set, by the name of what they call. */
function timers(): string[] {
  const found = queryObjects(Timer, { format: 'summary' });
  if (typeof found === 'number') return [];
  return found
    .filter((text) => text.includes('_destroyed: false'))
    .map((text) => /_onTimeout: \[Function: (?:bound )?([^\]]+)\]/.exec(text)?.[1] ?? '(anonymous)')
    .filter((name) => !OF_LISTENERS.includes(name));
}

/** Without the connections of the admin listener, and the descriptor that reads the folder. */
function openFiles(adminPort: number): Pick<Holdings, 'connections' | 'descriptors'> {
  const connections = tcpConnections();
  const connected: string[] = [];
  const descriptors: string[] = [];
  for (const descriptor of readdirSync('/proc/self/fd')) {
    const target = targetOf(descriptor);
    const connection = connections.get(/^socket:\[(\d+)\]$/.exec(target ?? '')?.[1] ?? '');
    if (target === undefined || connection?.localPort === adminPort) continue;
    descriptors.push(target.replace(/:\[\d+\]$/, ''));
    if (connection !== undefined)
      connected.push(`from port ${connection.localPort} to port ${connection.remotePort}`);
  }
  return { connections: connected, descriptors };
}

function targetOf(descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}

/** By inode, all of the machine that do not listen. */
function tcpConnections(): Map<string, { readonly localPort: number; readonly remotePort: number }> {
  const lines = ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/self/net/${family}`, 'utf8').trim().split('\n').slice(1),
  );
  const columns = lines.map((line) => line.trim().split(/\s+/));
  return new Map(
    columns
      .filter(([, , , state]) => state !== LISTEN)
      .map(([, local, remote, , , , , , , inode]) => [
        inode ?? '',
        { localPort: portOf(local), remotePort: portOf(remote) },
      ]),
  );
}

/** Of `0100007F:1F90`. */
function portOf(address = ''): number {
  return Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
}
