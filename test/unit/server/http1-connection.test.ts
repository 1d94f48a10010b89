/** The idle timeout of a connection. */
import t from 'tap';
import { Http1Connection } from '../../../src/server/http1-connection.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, listenFor, readSome } from '../../support/server/listening.ts';

const IDLE = 60_000;

t.test('a connection is idle unless a response is pending or a request head has begun', async (t) => {
  const clock = createFakeClock();
  let connection: object | undefined;
  const slow = Promise.withResolvers<void>();
  const listening = await listenFor(
    t,
    async (exchange) => {
      connection = exchange.connection;
      if (exchange.target === '/slow') await slow.promise;
      await echoTarget(exchange);
    },
    { clock },
  );
  const socket = await listening.socket();
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => connection !== undefined);
  clock.advance(10 * IDLE);
  slow.resolve();
  t.match(await readSome(socket), '/slow');

  const opened = connection;
  if (!(opened instanceof Http1Connection)) throw new Error('no HTTP/1 connection');
  const { received } = opened;
  socket.write('GET /second HTTP/1.1\r\nHo');
  await eventually(() => opened.received > received);
  clock.advance(IDLE);
  socket.write('st: x\r\n\r\n');
  t.match(await readSome(socket), '/second');

  clock.advance(IDLE - 1);
  t.equal(listening.listener.activeConnections, 1);
  clock.advance(IDLE / 8 + 1);
  await eventually(() => listening.listener.activeConnections === 0);
  t.pass('an idle connection is closed');
});
