/**
 * Loaded into Stonegate's process before its program: on a message of the soak test it collects garbage and
 * tells what the process holds.
 */
import { readdirSync } from 'node:fs';
import { queryObjects } from 'node:v8';
import type { Holdings } from '../holdings.ts';

const timer = setTimeout(() => {}, 0);
clearTimeout(timer);
const Timer = timer.constructor;

process.on('message', () => {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const holdings: Holdings = { heap: heapUsed, resident: rss, ...resources(), descriptors: descriptors() };
  process.send?.(holdings);
});
// If the soak test is killed, nothing is left behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGINT'));
// The channel does not hold the process.
process.channel?.unref();

function resources(): Pick<Holdings, 'sockets' | 'timers'> {
  const types = process.getActiveResourcesInfo();
  return {
    sockets: types.filter((type) => /^(?:TCP|TLS|Pipe)(?:Socket)?Wrap$/.test(type)).length,
    timers: queryObjects(Timer, { format: 'count' }),
  };
}

/** Less the one that reads the folder. */
function descriptors(): number {
  return readdirSync('/proc/self/fd').length - 1;
}
