/** Work in bounded parts, one for each turn of the event loop. */
import t from 'tap';
import { TurnQueue } from '../../../src/lib/turn-queue.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

interface Job {
  readonly name: string;
  readonly steps: number;
  readonly more?: readonly Job[];
}

function queueOf(stepsPerTurn: number) {
  const ran: string[] = [];
  const turns: (() => void)[] = [];
  const queue: TurnQueue<Job> = new TurnQueue<Job>({
    stepsPerTurn,
    run({ name, steps, more = [] }) {
      ran.push(name);
      for (const job of more) queue.add('more', job);
      return steps;
    },
    nextTurn: (action) => turns.push(action),
  });
  return {
    ran,
    turns,
    add: (key: string, name: string, steps = 1) => queue.add(key, { name, steps }),
    queue,
    /** @returns what the next turn runs */
    turn() {
      ran.splice(0);
      turns.shift()?.();
      return ran;
    },
  };
}

t.test('what fits into the turn runs at once', async (t) => {
  const { add, ran } = queueOf(3);
  add('a', 'a1');
  add('b', 'b1');
  t.same(ran, ['a1', 'b1']);
});

t.test('what does not fit runs in later turns, and none is lost', async (t) => {
  const { add, ran, turn, turns } = queueOf(2);
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) add('a', name);
  t.same(ran, ['a1', 'a2']);
  t.same(turn(), ['a3', 'a4']);
  t.same(turn(), ['a5']);
  t.same(turn(), []);
  t.same(turns, [], 'an idle queue plans no turn');
});

t.test('a key with much work does not delay that of another', async (t) => {
  const { add, turn } = queueOf(2);
  for (let at = 0; at < 100; at += 1) add('large', `l${at}`);
  add('small', 's1');
  t.ok(turn().includes('s1'));
});

t.test('a job with many steps leaves no room in its turn', async (t) => {
  const { add, ran, turn } = queueOf(10);
  add('a', 'a1', 50);
  add('a', 'a2');
  t.same(ran, ['a1']);
  t.same(turn(), ['a2']);
});

t.test('a job that waits already runs once, and again if it is added after it ran', async (t) => {
  const { queue, ran, turn } = queueOf(1);
  const job = { name: 'job', steps: 1 };
  queue.add('a', { name: 'first', steps: 1 });
  queue.add('a', job);
  queue.add('a', job);
  t.same(ran, ['first']);
  t.same(turn(), ['job']);
  t.same(turn(), []);
  ran.splice(0);
  queue.add('a', job);
  t.same(ran, ['job']);
});

t.test('a job may add others', async (t) => {
  const { queue, ran } = queueOf(10);
  queue.add('a', { name: 'outer', steps: 1, more: [{ name: 'inner', steps: 1 }] });
  t.same(ran, ['outer', 'inner']);
});

t.test('a job that throws stops no other', async (t) => {
  const turns: (() => void)[] = [];
  const ran: string[] = [];
  const queue = new TurnQueue<string>({
    stepsPerTurn: 2,
    run(name) {
      if (name === 'bad') throw new Error('a mistake');
      ran.push(name);
      return 5;
    },
    nextTurn: (action) => turns.push(action),
  });
  queue.add('a', 'first');
  queue.add('a', 'bad');
  queue.add('b', 'other');
  t.throws(() => turns.shift()?.(), { message: 'a mistake' });
  turns.shift()?.();
  t.same(ran, ['first', 'other']);
});

t.test('a turn ends after its time, however few steps it took', async (t) => {
  const clock = createFakeClock();
  const turns: (() => void)[] = [];
  const ran: string[] = [];
  const queue = new TurnQueue<string>({
    stepsPerTurn: 100,
    timeLimit: { clock, milliseconds: 10 },
    run(name) {
      ran.push(name);
      clock.advance(6);
      return 1;
    },
    nextTurn: (action) => turns.push(action),
  });
  for (const name of ['1', '2', '3', '4', '5']) queue.add('a', name);
  t.same(ran, ['1', '2']);
  turns.shift()?.();
  t.same(ran, ['1', '2', '3', '4']);
  turns.shift()?.();
  t.equal(ran.length, 5);
});
