import t from 'tap';
import {
  type MatrixRow,
  accessMatrix as matrixOf,
} from '../../../../src/features/access-rules/access-matrix.ts';
import type { AccessRules } from '../../../../src/features/access-rules/access-rules-v1alpha1.ts';
import { rule } from '../../../support/policy-rule.ts';
import { linesOf } from '../../../support/rows.ts';

const none: AccessRules = { everywhere: [], cluster: [], namespaces: [], otherNamespaces: [] };
const LIMITS = { groups: 3, rows: 5, names: 4, characters: 30 };
const accessMatrix = (rules: AccessRules) => matrixOf(rules, LIMITS).groups;

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

t.test('the row of a kind in a namespace includes the verbs that are allowed everywhere', async (t) => {
  const groups = accessMatrix({
    ...none,
    everywhere: [rule('get', 'pods')],
    namespaces: [
      { names: ['a'], rules: [rule('delete,deletecollection', 'pods')] },
      { names: ['b'], rules: [rule('*', 'deployments,deployments/scale', 'apps')] },
    ],
  });
  const shown = groups.flatMap(({ scope, names, rows }) =>
    rows.map((row) => [scope, ...names, textOf(row)].join(' | ')),
  );
  t.same(
    shown,
    linesOf(`
    everywhere | pods get
    namespaces | a | pods get delete +deletecollection
    namespaces | b | deployments.apps get list watch create update patch delete +*
    namespaces | b | deployments.apps/scale get list watch create update patch delete +*`),
  );
});

t.test('wildcards count in every row that they cover, and have rows of their own', async (t) => {
  const everywhere = [
    rule('get', '*', '*'),
    rule('update', '*/scale', '*'),
    rule('delete', 'deployments/scale', 'apps'),
  ];
  const [group] = accessMatrix({ ...none, everywhere });
  t.same(group?.rows.map(textOf), [
    '* get',
    '*.*/scale get update',
    'deployments.apps/scale get update delete',
  ]);
});

t.test('access to single objects is marked, and the objects are named', async (t) => {
  const cluster = [rule('list', 'pods'), { ...rule('list,get', 'pods'), resourceNames: ['b', 'a'] }];
  const [group] = accessMatrix({ ...none, cluster });
  t.same(group?.rows.map(textOf), ['pods (get) list "a" "b"']);
});

function texts(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

t.test('the names and verbs of a wildcard are not repeated at length in each row', async (t) => {
  const long = (prefix: string) => texts(50, prefix).map((text) => text.padEnd(24_000, 'x'));
  const groups = accessMatrix({
    ...none,
    everywhere: [{ ...rule('*', '*', '*'), verbs: long('v'), resourceNames: long('n') }],
    cluster: [rule('get', texts(4_900, 'kind').join(','))],
  });
  for (const { otherVerbs, names } of groups.flatMap(({ rows }) => rows)) {
    t.equal(otherVerbs.at(-1), '…');
    t.equal(names.at(-1), '…');
  }
  t.ok(JSON.stringify(groups).length < 10_000);
});

t.test('all groups together have no more rows than the limit, and a filter finds a namespace', async (t) => {
  const rules: AccessRules = {
    ...none,
    everywhere: [rule('get', texts(4, 'kind').join(','))],
    namespaces: texts(30, 'lab-').map((name) => ({
      names: [name, 'shop'],
      rules: [rule('get', 'pods'), rule('list', 'pods')],
    })),
  };
  const all = matrixOf(rules, LIMITS);
  t.same(
    all.groups.map(({ rows }) => rows.length),
    [4, 1],
  );
  t.equal(all.moreGroups, 29);
  const found = matrixOf(rules, LIMITS, 'lab-29');
  t.match(found, { groups: [{ names: ['lab-29'] }], moreGroups: 0 });
  t.equal(found.groups.length, 1);
});
