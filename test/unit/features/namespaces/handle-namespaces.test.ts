/**
 * A user who may not list all namespaces gets those that they may `get`; every other user gets the API
 * server's response.
 */
import t from 'tap';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { passUntil } from '../../../support/fake-clock.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { type NamespacesSite, namespacesSite } from '../../../support/namespaces-site.ts';
import { rule } from '../../../support/policy-rule.ts';
import { clusterRole, namespace, rbacObject, rbacObjects } from '../../../support/rbac-objects.ts';
import { eachRow } from '../../../support/rows.ts';
import { tampered } from '../../../support/tampered.ts';

const VIEWER = rbacObject('ClusterRole viewer: get namespaces');
const viewerIn = (place: string, ...names: string[]) =>
  rbacObject(
    `RoleBinding ${place}/view-${names}: ClusterRole/viewer to ${names.map((name) => `User acme:${name}`).join(', ')}`,
  );

type Asked = Parameters<NamespacesSite['get']>;
const names = async (site: NamespacesSite, ...asked: Asked) => (await site.get(...asked))?.names;
const status = async (site: NamespacesSite, ...asked: Asked) => (await site.get(...asked))?.status;

const [a, b, c] = [namespace('a'), namespace('b', { labels: { env: 'prod' } }), namespace('c')];

t.test(
  'D002 access moves between users, by name and by group, and no user sees a former namespace',
  async (t) => {
    const employee = rbacObject('RoleBinding c/employees: ClusterRole/viewer to Group stonegate:tenant:acme');
    const [foo, bar] = [namespace('foo'), namespace('bar')];
    const [ofAlice, ofFrank] = [viewerIn('foo', 'alice'), viewerIn('bar', 'frank')];
    const site = namespacesSite([a, b, c, foo, bar, VIEWER, employee, ofAlice, ofFrank]);
    const seen = async () => {
      const lists = ['alice', 'bob', 'eve', 'frank'].map(
        async (name) => `${name}: ${await names(site, name)}`,
      );
      return (await Promise.all(lists)).join(', ');
    };
    t.equal(await seen(), 'alice: c,foo, bob: c, eve: c, frank: bar,c');
    site.delete(ofAlice);
    site.put(viewerIn('foo', 'bob'));
    site.delete(ofFrank);
    site.put(viewerIn('bar', 'alice'));
    t.equal(await seen(), 'alice: bar,c, bob: c,foo, eve: c, frank: c');
    site.delete(employee);
    t.same(await names(site, 'eve'), []);
  },
);

t.test('D005 a right to named namespaces shows those that exist', async (t) => {
  const rules = [{ ...rule('get', 'namespaces'), resourceNames: ['a', 'gone'] }];
  const named = clusterRole('named', rules);
  const bound = rbacObject('ClusterRoleBinding named: ClusterRole/named to User acme:alice');
  t.same(await names(namespacesSite([a, b, named, bound]), 'alice'), ['a']);
});

t.test(
  'D007 a namespace that is created again is not visible through bindings of the former one',
  async (t) => {
    const d = namespace('d');
    const bound = viewerIn('d', 'alice');
    const site = namespacesSite([a, d, VIEWER, bound]);
    t.same(await names(site, 'alice'), ['d']);
    site.delete(bound);
    site.delete(d);
    t.same(await names(site, 'alice'), []);
    site.put(namespace('d'));
    t.same(await names(site, 'alice'), []);
  },
);

t.test('D013 a namespace selected by name is shown only if the user may see it', async (t) => {
  const site = namespacesSite([a, b, VIEWER, viewerIn('a', 'alice')]);
  t.same(await names(site, 'alice', 'fieldSelector=metadata.name%3Da'), ['a']);
  t.same(await names(site, 'alice', 'fieldSelector=metadata.name%3Db'), []);
  t.same(await names(site, 'alice', 'fieldSelector=status.phase%3DTerminating'), []);
});

t.test('a list is indented for curl, but not one that would take the process long', async (t) => {
  const large = { ...a, json: JSON.stringify({ ...JSON.parse(a.json), filler: 'x'.repeat(300_000) }) };
  for (const [shown, lines] of [
    [a, /\n {2}"items": \[\n/],
    [large, /^[^\n]+\n$/],
  ] as const) {
    const site = namespacesSite([shown, VIEWER, viewerIn('a', 'alice')]);
    t.match((await site.get('alice', '', [['User-Agent', 'curl/8.5.0']]))?.text, lines);
  }
});

t.test('D014 labels, which tenants may write, change no user’s list', async (t) => {
  const site = namespacesSite([a, b, VIEWER, viewerIn('a', 'alice')]);
  site.put({ ...b, labels: { 'stonegate.dev/tenant': 'acme', owner: 'alice' } });
  t.same(await names(site, 'alice'), ['a']);
});

t.test('D015 no page shows how much is hidden, and all pages are of one revision', async (t) => {
  const site = namespacesSite([a, b, c, VIEWER, viewerIn('a', 'alice'), viewerIn('c', 'alice')]);
  const first = await site.get('alice', 'limit=1');
  const last = await site.get('alice', `limit=1&continue=${first?.continue}`);
  t.same([first?.names, last?.names, last?.continue], [['a'], ['c'], '']);
  t.notMatch(first?.text, /remainingItemCount/);
  t.equal(first?.resourceVersion, last?.resourceVersion);
});

t.test('a continue token', async (t) => {
  const bound = ['a', 'b', 'c'].map((place) => viewerIn(place, 'alice', 'bob'));
  const objects = [a, b, c, VIEWER, ...bound];
  const site = namespacesSite(objects);
  const first = await site.get('alice', 'limit=1');
  const token = first?.continue ?? '';

  await t.test('is valid for one user and one selection', async (t) => {
    await eachRow(
      `
      bob   | limit=1&continue=${token}
      alice | limit=1&labelSelector=env&continue=${token}
      alice | limit=1&continue=${tampered(token)}
      alice | limit=1&continue=xyz`,
      async (name, query) => t.equal(await status(site, name, query), 400, query),
    );
    const namesake = keystoneIdentity('alice', { uid: 'another' });
    t.equal(await status(site, namesake, `limit=1&continue=${token}`), 400);
    t.same(await names(site, 'alice', `limit=5&continue=${token}`), ['b', 'c']);
  });

  await t.test('is valid at another replica', async (t) => {
    t.same(await names(namespacesSite(objects), 'alice', `limit=5&continue=${token}`), ['b', 'c']);
  });

  await t.test('expires when the user’s access changes', async (t) => {
    const changed = namespacesSite(objects);
    const { continue: more } = (await changed.get('alice', 'limit=1')) ?? {};
    changed.delete(bound[1] ?? VIEWER);
    const reply = await changed.get('alice', `limit=1&continue=${more}`);
    t.equal(reply?.status, 410);
    t.match(reply?.message, /The provided continue parameter is too old/);
  });

  await t.test('stays valid if only the access of others changes', async (t) => {
    const changed = namespacesSite(objects);
    const { continue: more } = (await changed.get('alice', 'limit=1')) ?? {};
    changed.put(viewerIn('c', 'carol'));
    t.same(await names(changed, 'alice', `limit=1&continue=${more}`), ['b']);
  });
});

t.test(
  'D017 a client that accepts only protobuf gets 406, one that accepts JSON too gets JSON',
  async (t) => {
    const site = namespacesSite([a, VIEWER, viewerIn('a', 'alice')]);
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const refused = await site.get('alice', '', [['Accept', protobuf]]);
    t.equal(refused?.status, 406);
    t.match(refused?.message, /only the following media types are accepted/);
    const both = await site.get('alice', '', [['Accept', `${protobuf}, application/json`]]);
    t.same(both?.names, ['a']);
  },
);

t.test('a list is served at or after a requested resourceVersion, or refused', async (t) => {
  const site = namespacesSite([a, VIEWER, viewerIn('a', 'alice')]);
  const { revision } = site.index;
  const shown = (await site.get('alice'))?.resourceVersion;
  await eachRow(
    `
    200 | alice | resourceVersion=0
    200 | alice | resourceVersion=${shown}
    200 | alice | resourceVersion=${shown}&resourceVersionMatch=Exact
    410 | bob   | resourceVersion=${shown}&resourceVersionMatch=Exact
    200 | alice | resourceVersion=1&resourceVersionMatch=NotOlderThan
    410 | alice | resourceVersion=1&resourceVersionMatch=Exact
    422 | alice | resourceVersionMatch=Exact
    400 | alice | resourceVersion=abc
    400 | alice | limit=1&limit=2`,
    async (expected, name, query) => t.equal(await status(site, name, query), Number(expected), query),
  );
  const reply = await passUntil(site.clock, site.get('alice', `resourceVersion=${revision + 5}`));
  t.equal(reply?.status, 504);
  t.match(JSON.parse(reply?.text ?? ''), {
    message: `Timeout: Too large resource version: ${revision + 5}, current: ${revision}`,
    details: { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] },
  });
  t.equal(headerValue(reply?.headers ?? [], 'retry-after'), '1');
});

t.test('the right to list all decides about lists and watches', async (t) => {
  const siteWith = (verb: string) => {
    const one = rbacObjects(`
      ClusterRole one: ${verb} namespaces
      ClusterRoleBinding one: ClusterRole/one to User acme:alice`);
    return namespacesSite([a, b, VIEWER, viewerIn('a', 'alice'), ...one]);
  };
  const watcher = siteWith('watch');
  t.same(await names(watcher, 'alice'), ['a']);
  t.same(await (await watcher.watch('alice')).read(), ['ADDED a']);
  const lister = siteWith('list');
  t.equal(await lister.get('alice'), undefined, 'the API server’s list');
  t.equal(await lister.get('alice', 'watch=1'), undefined, 'the API server’s 403');
  t.notOk(await lister.filtered.wouldFilter(lister.outgoing('alice', '/api/v1/namespaces')));
});

t.test('D009 a list waits for the namespace that its user has just created', async (t) => {
  const everywhere = rbacObjects('ClusterRoleBinding getters: ClusterRole/viewer to User acme:alice');
  const site = namespacesSite([a, VIEWER, ...everywhere]);
  const request = site.outgoing('alice', '/api/v1/namespaces', [], 'POST');
  t.equal(request.kind, 'forward', 'the request itself is forwarded');
  const others = namespace('of-others');
  const created = namespace('e');
  site.filtered.hook(request)?.onCreated?.(Buffer.from(created.json));
  let isListed = false;
  const list = site.get('alice').then((reply) => {
    isListed = true;
    return reply;
  });
  t.same(await names(site, 'bob'), [], 'no other user waits');
  site.index.put(others);
  t.notOk(isListed, 'nor does a namespace of another user end the wait');
  site.put(created);
  site.clock.advance(100);
  t.same((await list)?.names, ['a', 'e', 'of-others']);
});

t.test('only responses to requests that may create a namespace are read', async (t) => {
  const site = namespacesSite([a]);
  const isRead = (method: string, path: string): boolean =>
    site.filtered.hook(site.outgoing('alice', path, [], method)) !== undefined;
  t.ok(isRead('POST', '/api/v1/namespaces'));
  t.ok(isRead('PATCH', '/api/v1/namespaces/e'), 'an apply');
  for (const [method, path] of [
    ['GET', '/api/v1/namespaces'],
    ['PUT', '/api/v1/namespaces/e'],
    ['POST', '/api/v1/namespaces/e/pods'],
  ] as const)
    t.notOk(isRead(method, path), `${method} ${path}`);
});
