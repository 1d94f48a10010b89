import t from 'tap';
import { heldLosses, type Loss } from '../../../../src/kubernetes/reconcile/deletion-guard.ts';

/** Of a namespace that loses `going` of the `there` bindings in it. */
function loss(namespace: string, going: number, there: number): Loss {
  return { place: { namespace }, going, there };
}

const SHARE = 0.2;
const A_FEW = loss('a-few', 2, 10);

t.test(
  'removals are held back in a namespace that loses more than its share, or all of several bindings',
  async (t) => {
    for (const [going, there, share, heavy] of [
      [1, 1, 0.2, false],
      [1, 10, 0, false],
      [2, 10, 0.2, false],
      [3, 10, 0.2, true],
      [2, 10, 0, true],
      [9, 10, 1, false],
      [10, 10, 1, true],
      [2, 2, 1, true],
      [2, 0, 1, true],
    ] as const) {
      const losses = [loss('web', going, there)];
      t.same(heldLosses(losses, there, share), heavy ? losses : [], `${going} of ${there} at ${share}`);
    }
  },
);

for (const [what, losses, existing, held] of [
  ['nothing where nothing goes', [], 10, []],
  ['nothing where it is no more than the share in all', [loss('web', 2, 2)], 10, []],
  ['the heavy place alone', [loss('web', 40, 40), A_FEW], 90, ['web']],
  ['both of two heavy places', [loss('web', 40, 40), loss('shop', 9, 10), A_FEW], 90, ['web', 'shop']],
  [
    'all where places that lose one each are too many together',
    [1, 2, 3].map((n) => loss(`p${n}`, 1, 1)),
    5,
    ['p1', 'p2', 'p3'],
  ],
  [
    'all where beside the heavy place nothing would be left',
    [loss('web', 4, 4), loss('shop', 1, 1)],
    5,
    ['web', 'shop'],
  ],
] as const) {
  t.test(`held back is ${what}`, async (t) => {
    t.same(
      heldLosses(losses, existing, SHARE).map(({ place }) => place.namespace),
      held,
    );
  });
}
