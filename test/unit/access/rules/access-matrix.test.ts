import t from 'tap';
import { accessMatrix, type MatrixRow } from '../../../../src/access/rules/access-matrix.ts';
import { accessTable } from '../../../../src/access/rules/access-table.ts';
import type { AccessRule, AccessRules } from '../../../../src/api/access-rules-v1alpha1.ts';

const none: AccessRules = { everywhere: [], cluster: [], namespaces: [], otherNamespaces: [] };
const pods = (verbs: readonly string[]): AccessRule => ({ verbs, apiGroups: [''], resources: ['pods'] });

function textOf({ kind, cells, otherVerbs, names }: MatrixRow): string {
  const allowed = Object.entries(cells).flatMap(([verb, cell]) =>
    cell === 'none' ? [] : cell === 'all' ? verb : `(${verb})`,
  );
  return [
    kind,
    ...allowed,
    ...otherVerbs.map((verb) => `+${verb}`),
    ...names.map((name) => `"${name}"`),
  ].join(' ');
}

t.test('a kind of a namespace has what is allowed everywhere too', async (t) => {
  const groups = accessMatrix({
    ...none,
    everywhere: [pods(['get'])],
    namespaces: [
      { names: ['a'], rules: [pods(['delete', 'deletecollection'])] },
      {
        names: ['b'],
        rules: [{ verbs: ['*'], apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'] }],
      },
    ],
  });
  t.same(
    groups.map(({ scope, names, rows }) => [scope, ...names, ...rows.map(textOf)]),
    [
      ['everywhere', 'pods get'],
      ['namespaces', 'a', 'pods get delete +deletecollection'],
      [
        'namespaces',
        'b',
        'deployments.apps get list watch create update patch delete +*',
        'deployments.apps/scale get list watch create update patch delete +*',
      ],
    ],
  );
});

t.test('wildcards count in every row that they cover, and have rows of their own', async (t) => {
  const [group] = accessMatrix({
    ...none,
    everywhere: [
      { verbs: ['get'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['update'], apiGroups: ['*'], resources: ['*/scale'] },
      { verbs: ['delete'], apiGroups: ['apps'], resources: ['deployments/scale'] },
    ],
  });
  t.same(group?.rows.map(textOf), [
    '* get',
    '*.*/scale get update',
    'deployments.apps/scale get update delete',
  ]);
});

t.test('access to some objects is marked, and they are named', async (t) => {
  const [group] = accessMatrix({
    ...none,
    cluster: [pods(['list']), { ...pods(['list', 'get']), resourceNames: ['b', 'a'] }],
  });
  t.same(group?.rows.map(textOf), ['pods (get) list "a" "b"']);
});

t.test('the table names three namespaces and counts the rest', async (t) => {
  const status = { verb: '*', revision: '7', incomplete: false, validUntil: '', sets: {}, ...none };
  const { rows } = accessTable({
    ...status,
    everywhere: [pods(['get'])],
    cluster: [pods(['watch'])],
    namespaces: [
      { names: ['a', 'b', 'c', 'd', 'e'], rules: [pods(['list'])] },
      { names: ['f', 'g', 'h'], rules: [pods(['create'])] },
    ],
    otherNamespaces: [pods(['patch'])],
  });
  t.same(
    rows.map(({ cells }) => cells[0]),
    ['(everywhere)', '(cluster)', 'a,b,c and 2 more', 'f,g,h', '(other namespaces)'],
  );
});
