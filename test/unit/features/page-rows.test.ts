/** A page shows at most 200 rows, and finds the others by their names, however many there are. */
import t from 'tap';
import { createFakePortal, signedIn } from '../../support/portal.ts';
import { pageSources } from '../../support/portal-pages.ts';

/** The names of a kind that a page shows, without repetition. */
async function namesOn(path: string, name: RegExp, sources: ReturnType<typeof pageSources>) {
  const { browser } = await signedIn(sources);
  const { status, text } = await browser.get(path);
  return { status, text, names: [...new Set(text.match(name))] };
}

t.test('the page of a namespace with 9,700 members shows 200 of them, and finds each by name', async (t) => {
  const sources = pageSources({ members: 9_700 });
  const all = await namesOn('/members?namespace=shop', /user-\d+/g, sources);
  t.equal(all.names.length, 200);
  t.match(all.text, 'This page shows 200 rows, and 9500 more are left out');
  t.ok(all.text.length < 600_000, `${all.text.length} characters`);
  const found = await namesOn('/members?namespace=shop&name=USER-9699', /user-\d+/g, sources);
  t.same(found.names, ['user-9699']);
  t.match(found.text, 'value="USER-9699"', 'the filter can be changed');
  t.match(found.text, 'action="/members?namespace=shop&amp;name=USER-9699"', 'a form leads back to the row');
});

t.test('no page shows more than 200 rows of a list', async (t) => {
  for (const [path, rows, name, wanted, found] of [
    ['/members?namespace=shop', { namespaces: 5_000 }, /value="namespace-\d+/g, 'user', 0],
    ['/members?namespace=shop', { invitations: 5_000 }, /invitation-\d+@/g, 'invitation-4999@', 1],
    ['/tokens', { tokens: 5_000 }, /what token-\d+ is for/g, 'token-4999 ', 1],
    ['/teams', { teams: 5_000 }, /team-\d+/g, 'team-4999', 1],
    ['/teams', { usersOfTeam: 5_000 }, /team-0-user-\d+/g, 'user-4999', 1],
    ['/quota', { resources: 5_000 }, /count\/kind-\d+/g, 'kind-4999', 1],
  ] as const) {
    const sources = pageSources(rows);
    const all = await namesOn(path, name, sources);
    t.equal(all.status, 200, path);
    t.ok(all.names.length <= 200, `${path} ${Object.keys(rows)}: ${all.names.length} names`);
    t.ok(all.text.length < 600_000, `${path} ${Object.keys(rows)}: ${all.text.length} characters`);
    const mark = path.includes('?') ? '&' : '?';
    const filtered = await namesOn(`${path}${mark}name=${encodeURIComponent(wanted)}`, name, sources);
    t.equal(filtered.names.length, found, `${path} ${wanted}`);
  }
});

t.test('a user with many namespaces enters the name of one', async (t) => {
  const sources = pageSources({ namespaces: 5_000 });
  const { text } = await namesOn('/members?namespace=namespace-4999', /x/g, sources);
  t.match(text, /<input id="namespace" name="namespace"[^>]* value="namespace-4999"/);
  t.match(text, 'Members of <code>namespace-4999</code>');
});

t.test('a user of 5,000 projects chooses among 200, with the present one', async (t) => {
  const portal = createFakePortal();
  const projects = Array.from({ length: 5_000 }, (_, at) => ({ id: `q${at}`, name: `a-${at}` }));
  portal.world.password = { token: 'keystone-token', projects: [...projects, { id: 'p1', name: 'web' }] };
  const browser = portal.browser();
  await browser.signIn();
  const text = await browser.text('/');
  t.equal(text.match(/<option value="q\d+">/g)?.length, 200);
  t.match(text, '<option value="p1" selected>web</option>');
  t.match(text, 'and 4800 more');
});

t.test('a short list has no filter, and a long filter makes no long page', async (t) => {
  const sources = pageSources();
  t.notMatch((await namesOn('/tokens', /x/g, sources)).text, 'Filter by name');
  const path = `/members?namespace=shop&name=${'x'.repeat(10_000)}&other=${'y'.repeat(1_000)}`;
  const { text } = await namesOn(path, /x/g, sources);
  t.notMatch(text, 'x'.repeat(254));
  t.notMatch(text, 'yyy');
});
