/** The standard output of workers. */
import { PassThrough, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import t from 'tap';
import { relayLines } from '../../../src/server/worker-pool.ts';

function collector() {
  let text = '';
  const to = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      setImmediate(done);
    },
  });
  return { to, text: () => text };
}

t.test(
  'lines that arrive in parts are relayed whole, even if another worker writes in between',
  async (t) => {
    const { to, text } = collector();
    const workers = [new PassThrough(), new PassThrough()];
    for (const worker of workers) relayLines(worker, to);
    const [one, other] = workers;
    for (const [worker, piece] of [
      [one, 'first half, '],
      [other, 'whole\nbegun, '],
      [one, 'second half\n'],
      [other, 'ended\n'],
    ] as const) {
      worker?.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const worker of workers) worker.end();
    await Promise.all(workers.map((worker) => finished(worker)));
    to.end();
    await finished(to);
    t.same(text().split('\n').sort(), ['', 'begun, ended', 'first half, second half', 'whole']);
  },
);

t.test('an unfinished line of a killed worker does not corrupt the next line', async (t) => {
  const { to, text } = collector();
  const worker = new PassThrough();
  relayLines(worker, to);
  worker.end('whole\nhal');
  await finished(worker);
  await new Promise((resolve) => setImmediate(resolve));
  to.end();
  await finished(to);
  t.equal(text(), 'whole\nhal\n');
});
