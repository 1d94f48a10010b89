/**
 * What a worker of the integration test runs: a listener that tells which process answered, and a watch that
 * never ends by itself. The certificate comes by the environment; so does the order to fail.
 */
import process from 'node:process';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { readinessOf } from '../../../src/server/admin.ts';
import { createListener } from '../../../src/server/listener.ts';
import { createShutdown, onStopSignal } from '../../../src/server/shutdown.ts';
import { servePrimary } from '../../../src/server/worker-channel.ts';

const { WORKER_CERT: cert = '', WORKER_KEY: key = '', WORKER_FAILS } = process.env;
if (WORKER_FAILS !== undefined) process.exit(3);

let reloads = 0;
process.on('SIGHUP', () => {
  reloads += 1;
});

const listener = await createListener({
  bind: '127.0.0.1:0',
  tls: { cert, key },
  http2: true,
  timeouts: { header: 10_000, idle: 60_000, stall: 60_000 },
  limits: { headerBytes: 65_536 },
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  async serve({ target, response, stopping }) {
    response.writeHead(200, []);
    if (target !== '/watch') return response.end(String(process.pid));
    response.write(Buffer.from(String(process.pid)));
    stopping?.onCancel(() => response.end(' the end'));
  },
});
const shutdown = createShutdown({
  listener,
  drain: 60_000,
  grace: 5_000,
  afterwards: [{ name: 'channel', close: () => process.disconnect() }],
  clock: systemClock,
  logger: silentLogger,
});
onStopSignal(process, (signal) => void shutdown.begin(signal === 'SIGTERM'));
servePrimary(
  process,
  {
    readiness: () => readinessOf([{ name: 'upstream', notReadyBecause: () => undefined }, shutdown.check]),
    metrics: async () => ({ pid: process.pid, reloads }),
  },
  silentLogger,
);
