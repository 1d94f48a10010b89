import t from 'tap';
import { UnwrittenLines } from '../../../src/observability/audit-lines.ts';

function pendingOf(...chunks: string[]) {
  const pending = new UnwrittenLines();
  for (const chunk of chunks) pending.add(Buffer.from(chunk));
  return pending;
}

t.test('a line counts as lost until its last byte is written', async (t) => {
  const chunks = ['one\ntwo\n', 'three\n'];
  for (const [written, lost] of [
    [0, 3],
    [3, 3],
    [4, 2],
    [7, 2],
    [8, 1],
    [13, 1],
    [14, 0],
  ] as const) {
    const pending = pendingOf(...chunks);
    pending.confirmWritten(written);
    t.equal(pending.giveUp(), lost, `${written} bytes`);
  }
});

t.test('a refused line is removed, and a line that was given up is no longer pending', async (t) => {
  const pending = pendingOf('one\n', 'two\nthree\n');
  t.equal(pending.removeLast(), 2);
  t.equal(pending.giveUp(), 1);
  t.equal(pending.giveUp(), 0);
  t.equal(pending.removeLast(), 0);
  pending.add(Buffer.from('four\n'));
  pending.confirmWritten(5);
  t.equal(pending.giveUp(), 0);
});

t.test(
  'a line that was given up but written after all does not affect the count of later lines',
  async (t) => {
    const pending = pendingOf('one\n');
    pending.giveUp();
    pending.confirmWritten(4);
    pending.add(Buffer.from('two\n'));
    t.equal(pending.giveUp(), 1);
  },
);
