/**
 * The page "What you may do" in the states that a user rarely sees: no rights, an index that is not current,
 * and rights to every kind.
 */
import t from 'tap';
import type { MatrixGroup } from '../../../../src/features/access-rules/access-matrix.ts';
import type { AccessView } from '../../../../src/features/portal/context.ts';
import { accessPage } from '../../../../src/features/portal/pages/access-page.ts';

const ACCOUNT = {
  name: 'alice',
  domain: 'acme',
  issuer: undefined,
  tenant: 'acme',
  username: 'acme:alice',
  groups: [],
  project: undefined,
  roles: [],
  otherProjects: [],
  expiresAt: 0,
};
const NOTHING: AccessView = {
  matrix: { groups: [], moreGroups: 0 },
  ...{ roles: [], hiddenRoles: 0, moreRoles: 0, incompleteReason: undefined },
};
const matrixOf = (...groups: MatrixGroup[]) => ({ matrix: { groups, moreGroups: 0 } });

function page(access: Partial<AccessView>): string {
  const view = { ...NOTHING, ...access };
  return accessPage({ server: 'https://k8s.example', account: ACCOUNT, access: view, formToken: 'x' }).text;
}

t.test('a user without rights is told so', async (t) => {
  const text = page({});
  t.match(text, 'You have no rights in this cluster yet.');
  t.match(text, '>none<');
  t.notMatch(text, 'incomplete');
});

t.test(
  'while the index is not current, the page says why, and does not say that there are no rights',
  async (t) => {
    const text = page({ incompleteReason: 'no news of roles for 6 minutes' });
    t.match(text, 'This may be incomplete: no news of roles for 6 minutes.');
    t.match(text, 'No right of yours in this cluster is known at the moment.');
    t.notMatch(text, 'You have no rights');
  },
);

t.test('`*` is said in words, and long names may break before a dot', async (t) => {
  const all = 'all' as const;
  const cells = { get: all, list: all, watch: all, create: all, update: all, patch: all, delete: all };
  const row = (kind: string) => ({ kind, cells, otherVerbs: [], names: [] });
  const group: MatrixGroup = {
    scope: 'everywhere',
    names: [],
    rows: [row('*'), row('*.apps'), row('pods/log'), row('leases.coordination.k8s.io'), row('<b>')],
    moreRows: 0,
  };
  const text = page(matrixOf(group));
  t.match(text, '<code>*</code><span class="also">every kind</span>');
  t.match(text, '<code>*<wbr>.apps</code><span class="also">every kind of apps</span>');
  t.match(text, '<code>pods/log</code>');
  t.match(text, '<code>leases<wbr>.coordination<wbr>.k8s<wbr>.io</code>');
  t.match(text, '<code>&lt;b&gt;</code>');
});

t.test('what is not shown is counted', async (t) => {
  const names = Array.from({ length: 300 }, (_, at) => `ns-${at}`);
  const group: MatrixGroup = { scope: 'namespaces', names, rows: [], moreRows: 40 };
  const roles = [{ kind: 'Role', name: 'x'.repeat(500), everywhere: false, namespaces: names }];
  const text = page({ matrix: { groups: [group], moreGroups: 7 }, roles, moreRoles: 3 });
  for (const part of ['40 more kinds', '7 more sets of namespaces', '3 more roles', 'and 295 more'])
    t.match(text, part);
  t.notMatch(text, 'ns-5');
  t.notMatch(text, 'x'.repeat(81));
});
