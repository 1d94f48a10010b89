/**
 * Node destroys the session of a flood, and may then wait forever for a last write to a client that
 * disconnected.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { DeadFlood } from '../../support/server/dead-flood.ts';
import { authority, listenFor } from '../../support/server/listening.ts';

t.test('a flood of requests whose client disconnects at once leaves nothing behind', async (t) => {
  const clock = createFakeClock();
  const signals: AbortSignal[] = [];
  const listening = await listenFor(
    t,
    async ({ response, signal }) => {
      signals.push(signal);
      // The client disconnects while its requests are served.
      const until = performance.now() + 0.3;
      while (performance.now() < until);
      await null;
      response.writeHead(401, []);
      response.end('x'.repeat(300));
    },
    { clock },
  );
  const flood: DeadFlood = { port: listening.port, ca: authority.cert, connections: 5 };
  const script = new URL('../../support/server/dead-flood.ts', import.meta.url);
  // On a busy machine all of its clients may have disconnected before their first request arrived.
  while (signals.length === 0) await once(new Worker(script, { workerData: flood }), 'exit');
  await eventually(() => {
    clock.advance(1_000);
    return listening.listener.activeConnections === 0;
  });
  t.equal(clock.pending, 0, 'no timer is left for any connection');
});
