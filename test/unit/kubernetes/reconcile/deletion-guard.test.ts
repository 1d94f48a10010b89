import t from 'tap';
import { KINDS } from '../../../../src/kubernetes/kubernetes-object.ts';
import { heldBack, heldLosses } from '../../../../src/kubernetes/reconcile/deletion-guard.ts';

/** A namespace that loses `going` of its `there` bindings. */
function loss(namespace: string, going: number, there: number) {
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
  ['nothing if nothing is removed', [], 10, []],
  ['nothing if the removals are no more than the share of all bindings', [loss('web', 2, 2)], 10, []],
  ['only the namespace that loses many', [loss('web', 40, 40), A_FEW], 90, ['web']],
  [
    'both of two namespaces that lose many',
    [loss('web', 40, 40), loss('shop', 9, 10), A_FEW],
    90,
    ['web', 'shop'],
  ],
  [
    'everything if too many namespaces lose one binding each',
    [1, 2, 3].map((n) => loss(`p${n}`, 1, 1)),
    5,
    ['p1', 'p2', 'p3'],
  ],
  [
    'everything if nothing would remain in the other namespaces either',
    [loss('web', 4, 4), loss('shop', 1, 1)],
    5,
    ['web', 'shop'],
  ],
] as const)
  t.test(`the guard holds back removals: ${what}`, async (t) =>
    t.same(
      heldLosses(losses, existing, SHARE).map(({ place }) => place.namespace),
      held,
    ),
  );

t.test('a controller without a share deletes all that is not desired', async (t) => {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
  const fields = { place: {}, object, reason: 'it is not desired', isOwned: () => true };
  const deletion = { action: 'delete', kind: KINDS.Namespace, ...fields } as const;
  const changes = [deletion, deletion];
  const plan = { changes, refusals: [], unread: [], unchanged: 0, guarded: new Map() };
  t.same(heldBack(plan, undefined), []);
  t.same(heldBack(plan, 1), changes);
});
