import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { MatrixRow } from '../../../../src/features/access-rules/access-matrix.ts';
import type { AccessView } from '../../../../src/features/access-rules/access-page.ts';
import { createFakePortal, pageOf, signedIn } from '../../../support/portal.ts';

const CELLS: MatrixRow['cells'] = parse(
  '{get: all, list: none, watch: none, create: none, update: none, patch: none, delete: none}',
);

/** A user without rights. */
const view: AccessView = {
  ...parse('{matrix: {groups: [], moreGroups: 0}, roles: [], hiddenRoles: 0, moreRoles: 0}'),
  incompleteReason: undefined,
};

const shown = (access: AccessView) => pageOf('/access', { access: { accessOf: async () => access } });

t.test('a namespace that is named by an id is shown with the name of its project', async (t) => {
  const namespace = '5483a9677fec6af1d1bd6f7e38a0d5c6';
  const groups = [[namespace], [namespace, 'shop']].map((names) => ({
    ...{ scope: 'namespaces' as const, names, moreRows: 0 },
    rows: [{ kind: 'pods', cells: CELLS, otherVerbs: [], names: [] }],
  }));
  const portal = createFakePortal({
    access: { accessOf: async () => ({ ...view, matrix: { groups, moreGroups: 0 } }) },
    namespaceOf: ({ name }) => (name === 'web' ? namespace : name),
  });
  const browser = portal.browser();
  await browser.signIn();
  const text = await browser.text('/access');
  t.match(text, `In the namespace of project web<code class="also">${namespace}</code>`);
  t.match(text, '<li>project web</li><li><code>shop</code></li>');
  const account = await browser.get('/');
  for (const part of [`<code>${namespace}</code>`, 'any role on project web', 'keystone:project:p1'])
    t.ok(account.text.includes(part), part);
});

t.test('a page whose source is not configured is neither served nor linked', async (t) => {
  t.match((await pageOf('/', { access: { accessOf: async () => view } })).text, '<a href="/access">');
  const { browser } = await signedIn();
  const text = await browser.text('/');
  for (const path of ['/access', '/quota', '/tokens', '/members', '/teams', '/invitation']) {
    t.notOk(text.includes(path), path);
    t.equal(await browser.status(path), 404, path);
  }
});

t.test('a page whose source cannot be asked is an error page with the reason', async (t) => {
  const accessOf = () => Promise.reject(new StatusError('UpstreamUnavailable', 'Service Unavailable'));
  const { status, text } = await pageOf('/access', { access: { accessOf } });
  t.equal(status, 503);
  t.match(text, '<blockquote>Service Unavailable</blockquote>');
});

t.test('a user without rights is told so', async (t) => {
  const { text } = await shown(view);
  t.match(text, 'You have no rights in this cluster yet.');
  t.notMatch(text, 'incomplete');
});

t.test('while the index is not current, the page says why, and not that there are no rights', async (t) => {
  const { text } = await shown({ ...view, incompleteReason: 'no news of roles for 6 minutes' });
  t.match(text, 'This may be incomplete: no news of roles for 6 minutes.');
  t.match(text, 'No right of yours in this cluster is known at the moment.');
  t.notMatch(text, 'You have no rights');
});
