/** The ratio that continuous integration requires: `npm run bench -- --quick --at-least RATIO`. */
import t from 'tap';
import { verdictOf } from '../../bench/at-least.ts';

/** Of measurements one after the other, for as long as there are more to be made. */
function verdictsOn(ratios: readonly number[], atLeast: number): string[] {
  const verdicts: string[] = [];
  for (const ratio of ratios) {
    verdicts.push(verdictOf(ratio, atLeast, verdicts.length + 1));
    if (verdicts.at(-1) !== 'again') break;
  }
  return verdicts;
}

t.test('a ratio that is reached is enough at the first attempt', async (t) => {
  t.same(verdictsOn([0.6], 0.6), ['enough']);
});

t.test('one good attempt of three is enough', async (t) => {
  t.same(verdictsOn([0.59, 0.3, 0.61], 0.6), ['again', 'again', 'enough']);
});

t.test('three attempts below it fail, and there is no fourth', async (t) => {
  t.same(verdictsOn([0.59, 0.59, 0.59, 0.9], 0.6), ['again', 'again', 'too little']);
});

t.test('an attempt at which nothing was measured is no good one', async (t) => {
  t.same(verdictsOn([Number.NaN, Number.NaN, Number.NaN], 0), ['again', 'again', 'too little']);
});
