/**
 * What usage costs with many tenants: memory and time of a process that counts a minute of requests, writes
 * the records and shows the metrics; and the time to add up the records. Run with `--expose-gc`.
 */
import process from 'node:process';
import { UsageSums } from '../../../src/cli/usage/usage-sums.ts';
import { createUsageMeter } from '../../../src/features/usage/build.ts';
import { UsageExposition } from '../../../src/features/usage/usage-metrics.ts';
import { usageLineSchema } from '../../../src/features/usage/usage-v1alpha1.ts';
import { parseJSON } from '../../../src/lib/parse-json.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { observedRequest } from '../../support/observed-request.ts';

const TENANTS = Number(process.argv[2] ?? 10_000);
const METHODS = ['GET', 'POST', 'DELETE'] as const;

const INFOS = METHODS.map((method) =>
  readRequestInfo(method, '/api/v1/namespaces/default/pods/web', { hasTenantsInPaths: true }),
);
const REQUESTS = Array.from({ length: TENANTS }, (_, n) =>
  INFOS.map((info) =>
    observedRequest({ tenant: `tenant-${n}`, project: n.toString(16).padStart(32, '0'), info, sent: 2_000 }),
  ),
).flat();

function heap(): number {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function timed<T>(what: string, action: () => T): T {
  const began = process.cpuUsage();
  const result = action();
  const { user, system } = process.cpuUsage(began);
  process.stdout.write(`${what}: ${((user + system) / 1_000).toFixed(1)} ms of CPU\n`);
  return result;
}

const clock = createFakeClock(0);
const lines: string[] = [];
let bytes = 0;
const sink = {
  write(line: string) {
    lines.push(line);
    bytes += line.length + 1;
  },
};
const meter = createUsageMeter({
  process: '7f0c7d5e-29a1-4c1f-8e4e-0123456789ab',
  sink,
  clock,
  requested: () => [],
});
const countAll = (): void => {
  for (const request of REQUESTS) meter.observer.responseComplete(request);
};
countAll();
clock.advance(60_000);
lines.length = 0;
bytes = 0;
const before = heap();
timed(`count ${REQUESTS.length} requests`, countAll);
process.stdout.write(`memory of the minute: ${((heap() - before) / 2 ** 20).toFixed(1)} MiB\n`);
timed('end the minute', () => clock.advance(60_000));
process.stdout.write(`records of a minute: ${(bytes / 2 ** 20).toFixed(1)} MiB\n`);
const exposition = new UsageExposition();
exposition.text(new Map([[0, meter.current()]]));
const text = timed('scrape', () => exposition.text(new Map([[0, meter.current()]])));
const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
process.stdout.write(`scrape: ${series} series, ${(text.length / 2 ** 20).toFixed(1)} MiB\n`);
timed(`add up ${lines.length} lines`, () => {
  const sums = new UsageSums({ from: 0, to: Number.POSITIVE_INFINITY, by: 'tenant' });
  for (const line of lines) {
    const parsed = parseJSON(line, usageLineSchema);
    if (parsed !== undefined) sums.add(parsed);
  }
  return sums.rows();
});
