/**
 * What outlives a reload, what a reload replaces, and that one which is refused leaves no trace.
 */
import fc from 'fast-check';
import t from 'tap';
import { createKept, keepTogether } from '../../../src/lib/kept.ts';

function keeping() {
  const started: string[] = [];
  const ended: string[] = [];
  const kept = createKept<string>(
    (part) => {
      ended.push(part);
    },
    (part) => {
      started.push(part);
    },
  );
  const bring = (madeOf: string, name: string) => {
    const taken = kept.take(madeOf, () => name);
    kept.commit();
    return taken;
  };
  return { kept, started, ended, bring };
}

t.test('a part stays while it is made of the same, and is ended after it was replaced', async (t) => {
  const { kept, started, ended, bring } = keeping();
  t.equal(kept.current, undefined);
  t.equal(bring('a', 'first'), 'first');
  t.equal(bring('a', 'never'), 'first');
  t.equal(bring('b', 'second'), 'second');
  t.same(ended, [], 'what still uses it may finish');
  const endFormer = kept.former();
  bring('c', 'third');
  await endFormer();
  t.same(ended, ['first'], 'not what was replaced since: who asked for it then still uses it');
  t.equal(kept.current, 'third');
  await kept.end();
  await endFormer();
  t.same(ended, ['first', 'second', 'third'], 'each once');
  t.same(started, ['first', 'second', 'third'], 'each once');
});

t.test('what nobody takes any more is retired, and built anew when it is wanted again', async (t) => {
  const { kept, ended, bring } = keeping();
  bring('a', 'first');
  kept.commit();
  t.equal(kept.current, undefined);
  const endFormer = kept.former();
  t.equal(bring('a', 'again'), 'again');
  await endFormer();
  t.same(ended, ['first']);
});

t.test('what is prepared does nothing by itself and is not in force before the commit', async (t) => {
  const { kept, started, bring } = keeping();
  bring('a', 'first');
  t.equal(
    kept.take('b', () => 'second'),
    'second',
  );
  t.equal(
    kept.take('b', () => 'never'),
    'second',
    'all that is prepared together shares it',
  );
  t.equal(kept.current, 'first');
  t.same(started, ['first']);
});

t.test('a part that cannot be built leaves the current one', async (t) => {
  const { kept, ended, bring } = keeping();
  bring('a', 'first');
  t.throws(() =>
    kept.take('b', () => {
      throw new Error('bad');
    }),
  );
  await kept.rollback();
  t.equal(kept.current, 'first');
  t.same(ended, []);
});

t.test('of many that are kept together all come into force, or none', async (t) => {
  const [one, other] = [keeping(), keeping()];
  const together = keepTogether(() => [one.kept, other.kept]);
  const inForce = () => [one.kept.current, other.kept.current];
  const takeBoth = (madeOf: string) => {
    for (const { kept } of [one, other]) kept.take(madeOf, () => madeOf);
  };
  takeBoth('a');
  together.commit();
  takeBoth('b');
  await together.rollback();
  t.same(inForce(), ['a', 'a']);
  t.same([one.ended, other.ended], [['b'], ['b']]);
  takeBoth('c');
  together.commit();
  t.same(inForce(), ['c', 'c']);
  await together.former()();
  t.same(
    [one.ended, other.ended],
    [
      ['b', 'a'],
      ['b', 'a'],
    ],
  );
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('take' as const), madeOf: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ kind: fc.constantFrom('commit' as const, 'rollback' as const, 'former' as const) }),
);

t.test('whatever is prepared, taken back and brought into force, and in whichever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { kept, started, ended } = keeping();
      let built = 0;
      let inForce: string | undefined;
      let taken: string | undefined;
      const isTrue = (holds: boolean, what: string) => {
        if (!holds) throw new Error(what);
      };
      for (const each of steps) {
        if (each.kind === 'take') {
          taken = kept.take(each.madeOf, () => {
            built += 1;
            return `${each.madeOf}${built}`;
          });
          isTrue(taken.startsWith(each.madeOf), 'a part is made of what it was asked for');
        } else if (each.kind === 'former') await kept.former()();
        else {
          if (each.kind === 'commit') {
            kept.commit();
            inForce = taken;
          } else await kept.rollback();
          taken = undefined;
        }
        isTrue(kept.current === inForce, 'only a commit changes what is in force');
        isTrue(inForce === undefined || started.includes(inForce), 'what is in force was started');
        for (const used of [inForce, taken])
          isTrue(!ended.some((part) => part === used), 'nothing in use is ended');
      }
      await kept.end();
      isTrue(ended.length === built && new Set(ended).size === built, 'everything is ended once');
      isTrue(new Set(started).size === started.length, 'nothing is started twice');
    }),
  );
});
