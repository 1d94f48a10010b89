/** The order in which the answers of one connection leave, whoever says when that theirs has. */
import { PassThrough } from 'node:stream';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { OpenAnswers } from '../../../src/server/answer-state.ts';
import { createHttp1Connections, type Owed } from '../../../src/server/http1-connection.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function connectionOwing(count: number) {
  const turns: number[] = [];
  const connectionOf = createHttp1Connections({
    serve: async () => undefined,
    certificateOf: () => undefined,
    timeouts: { header: 1, idle: 1, stall: 1 },
    headerBytes: 8_192,
    clock: createFakeClock(),
    random: systemRandom,
    logger: silentLogger,
    draining: new AbortController().signal,
    open: new OpenAnswers(),
  });
  const connection = connectionOf(new PassThrough());
  const answers = Array.from({ length: count }, (_, index): Owed => {
    return { headersSent: false, takeTurn: () => void turns.push(index), abandon: () => undefined };
  });
  for (const answer of answers) connection.owe(answer);
  return { connection, answers, turns };
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
