/** The order in which the answers of one connection leave, whoever says when that theirs has, and how long it is kept after. */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { OpenAnswers } from '../../../src/server/answer-state.ts';
import { createHttp1Connections, Http1Connection, type Owed } from '../../../src/server/http1-connection.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, readSome, startListener } from '../../support/server/listening.ts';

const IDLE = 60_000;

function connectionOwing(count: number) {
  const turns: number[] = [];
  const clock = createFakeClock();
  const socket = new PassThrough();
  const connectionOf = createHttp1Connections({
    serve: async () => undefined,
    certificateOf: () => undefined,
    timeouts: { header: 1, idle: IDLE, stall: 1 },
    headerBytes: 8_192,
    clock,
    random: systemRandom,
    logger: silentLogger,
    draining: new AbortController().signal,
    open: new OpenAnswers(),
  });
  const connection = connectionOf(socket);
  const answers = Array.from({ length: count }, (_, index): Owed => {
    return {
      headersSent: false,
      requestComplete: true,
      takeTurn: () => void turns.push(index),
      abandon: () => undefined,
    };
  });
  for (const answer of answers) connection.owe(answer);
  return { connection, answers, turns, clock, socket };
}

t.test(
  'answers leave one behind the other, and one that is given up before its turn is passed over',
  async (t) => {
    const { connection, answers, turns } = connectionOwing(3);
    const [first, second, third] = answers;
    if (!first || !second || !third) throw new Error('three answers');
    connection.settle(second);
    connection.settle(first);
    t.equal(turns.at(-1), 2);
    t.notOk(connection.waits(third));
    connection.settle(third);
    t.equal(connection.pending, 0);
  },
);

t.test('an answer that has left already takes no other with it', async (t) => {
  const { connection, answers } = connectionOwing(3);
  const [first] = answers;
  if (!first) throw new Error('an answer');
  connection.settle(first);
  connection.settle(first);
  t.equal(connection.pending, 2);
});

t.test(
  'an answer that takes long is not broken off for idleness; a connection that owes none is',
  async (t) => {
    const { connection, answers, clock, socket } = connectionOwing(1);
    const [answer] = answers;
    if (!answer) throw new Error('an answer');
    connection.settle(answer);
    clock.advance(IDLE - 1);
    connection.owe(answer);
    clock.advance(10 * IDLE);
    t.notOk(socket.destroyed);
    connection.settle(answer);
    clock.advance(IDLE - 1);
    t.notOk(socket.destroyed);
    clock.advance(1);
    t.ok(socket.destroyed);
  },
);

t.test('a kept connection on which a head has begun is not idle', async (t) => {
  const clock = createFakeClock();
  let connection: object | undefined;
  const listening = await startListener(
    (exchange) => {
      connection = exchange.connection;
      return echoTarget(exchange);
    },
    { clock },
  );
  t.teardown(() => listening.close());
  const socket = await listening.socket();
  socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
  t.match(await readSome(socket), '/first');
  const kept = connection;
  if (!(kept instanceof Http1Connection)) throw new Error('a connection of HTTP/1');
  const { received } = kept;
  socket.write('GET /second HTTP/1.1\r\nHo');
  await eventually(() => kept.received > received);
  clock.advance(IDLE);
  socket.write('st: x\r\n\r\n');
  t.match(await readSome(socket), '/second');
  socket.destroy();
});
