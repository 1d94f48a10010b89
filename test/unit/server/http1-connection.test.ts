/** The order of the responses on one connection, and its idle timeout. */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { CancellationSource } from '../../../src/lib/cancellation.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { TimeoutQueue } from '../../../src/lib/timeout-queue.ts';
import {
  createHttp1Connections,
  Http1Connection,
  type PendingResponse,
} from '../../../src/server/http1-connection.ts';
import { UnfinishedHeads } from '../../../src/server/unfinished-heads.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, listenFor, readSome } from '../../support/server/listening.ts';

const IDLE = 60_000;

function connectionWithPending(count: number) {
  const served: number[] = [];
  const clock = createFakeClock();
  const socket = new PassThrough();
  const connectionOf = createHttp1Connections({
    serve: async () => undefined,
    certificateOf: () => undefined,
    timeouts: { header: 1, idle: IDLE, stall: 1 },
    idleQueue: new TimeoutQueue(clock, IDLE),
    stallQueue: new TimeoutQueue(clock, 1),
    headerBytes: 8_192,
    clock,
    random: systemRandom,
    logger: silentLogger,
    draining: new CancellationSource(),
    stopping: new CancellationSource(),
    heads: new UnfinishedHeads({ clock, logger: silentLogger }),
  });
  const connection = connectionOf(socket);
  const responses = Array.from({ length: count }, (_, index): PendingResponse => {
    return {
      headersSent: false,
      requestComplete: true,
      onFirst: () => void served.push(index),
      cancel: () => undefined,
    };
  });
  for (const response of responses) connection.enqueue(response);
  return { connection, responses, served, clock, socket };
}

t.test('responses are sent in the order of their requests, and a cancelled one is skipped', async (t) => {
  const { connection, responses, served } = connectionWithPending(3);
  const [first, second, third] = responses;
  if (!first || !second || !third) throw new Error('three responses');
  connection.dequeue(second);
  connection.dequeue(first);
  t.equal(served.at(-1), 2);
  t.notOk(connection.isWaiting(third));
  connection.dequeue(third);
  t.equal(connection.pending, 0);
});

t.test('a connection is closed as idle only if no response is pending', async (t) => {
  const { connection, responses, clock, socket } = connectionWithPending(1);
  const [response] = responses;
  if (!response) throw new Error('no response');
  connection.dequeue(response);
  clock.advance(IDLE - 1);
  connection.enqueue(response);
  clock.advance(10 * IDLE);
  t.notOk(socket.destroyed);
  connection.dequeue(response);
  clock.advance(IDLE - 1);
  t.notOk(socket.destroyed);
  clock.advance(1);
  t.ok(socket.destroyed);
});

t.test('a connection on which a request head has begun is not idle', async (t) => {
  const clock = createFakeClock();
  let connection: object | undefined;
  const listening = await listenFor(
    t,
    (exchange) => {
      connection = exchange.connection;
      return echoTarget(exchange);
    },
    { clock },
  );
  const socket = await listening.socket();
  socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
  t.match(await readSome(socket), '/first');
  const opened = connection;
  if (!(opened instanceof Http1Connection)) throw new Error('no HTTP/1 connection');
  const { received } = opened;
  socket.write('GET /second HTTP/1.1\r\nHo');
  await eventually(() => opened.received > received);
  clock.advance(IDLE);
  socket.write('st: x\r\n\r\n');
  t.match(await readSome(socket), '/second');
  socket.destroy();
});
