/**
 * A watch of namespaces by a user who may not list them all: grants and revocations are events, and no event
 * is of a namespace that the user does not see.
 */
import t from 'tap';
import { INDEXED_RESOURCES } from '../../../../src/api/rbac-v1.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { Outgoing } from '../../../../src/pipeline/request-context.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { eventually } from '../../../support/eventually.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const GET_NAMESPACES = { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] };
const VIEWER = clusterRole('viewer', [GET_NAMESPACES]);

const viewerIn = (place: string, name: string) =>
  roleBinding(place, `view-${name}`, 'ClusterRole/viewer', [user(`acme:${name}`)]);

const [a, b, c] = [namespace('a'), namespace('b', { labels: { env: 'prod' } }), namespace('c')];
const inA = viewerIn('a', 'alice');
const inB = viewerIn('b', 'alice');

const BOOKMARKS = 'allowWatchBookmarks=true';

t.test('D030 a grant is ADDED with the object’s own resourceVersion, then a bookmark', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const watch = await site.watch('alice', `resourceVersion=${site.index.revision}&${BOOKMARKS}`);
  t.same(await watch.read(), []);
  const granted = site.put(inB);
  t.same(await watch.read(), ['ADDED b', 'BOOKMARK']);
  const [added, bookmark] = watch.events;
  t.equal(added?.resourceVersion, String(b.revision));
  t.same(added?.object, JSON.parse(b.json));
  t.equal(bookmark?.resourceVersion, String(granted.revision));
});

t.test('D030 a client that allows no bookmarks gets none', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const watch = await site.watch('alice', `resourceVersion=${site.index.revision}`);
  site.put(inB);
  t.same(await watch.read(), ['ADDED b']);
});

t.test('D031 a revocation is DELETED with the last state that the user saw', async (t) => {
  const byGroup = roleBinding('c', 'all', 'ClusterRole/viewer', [group('stonegate:tenant:acme')]);
  const site = namespacesSite([a, b, c, VIEWER, inA, inB, byGroup]);
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a', 'ADDED b', 'ADDED c']);
  const second = site.put(roleBinding('b', 'again', 'ClusterRole/viewer', [user('acme:alice')]));
  site.delete(inB);
  t.same(await watch.read(), [], 'another binding still grants it');
  site.delete(second);
  t.same(await watch.read(), ['DELETED b']);
  const gone = watch.events.at(-1);
  t.equal(gone?.resourceVersion, String(site.index.revision));
  const { metadata, ...rest } = JSON.parse(b.json);
  t.same(gone?.object, { ...rest, metadata: { ...metadata, resourceVersion: gone?.resourceVersion } });
  site.put({ ...b, labels: { env: 'secret' } });
  t.same(await watch.read(), [], 'nothing that happens afterwards is told');
  site.delete(byGroup);
  t.same(await watch.read(), ['DELETED c']);
});

t.test('D032 a watch of one name is silent about all others', async (t) => {
  const site = namespacesSite([a, b, c, VIEWER, inA, inB]);
  for (const from of ['', '&resourceVersion=NOW']) {
    const query = `fieldSelector=metadata.name%3Dc${from.replace('NOW', String(site.index.revision))}`;
    const watch = await site.watch('alice', query);
    site.put({ ...a, labels: { changed: 'yes' } });
    site.delete(inB);
    t.same(await watch.read(), []);
    const inC = site.put(viewerIn('c', 'alice'));
    t.same(await watch.read(), ['ADDED c']);
    site.delete(inC);
    t.same(await watch.read(), ['DELETED c']);
    watch.close();
  }
});

t.test('objects that change, appear and vanish', async (t) => {
  const everywhere = clusterRoleBinding('getters', 'ClusterRole/viewer', [user('acme:alice')]);
  const site = namespacesSite([a, VIEWER, everywhere]);
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a']);
  site.put({ ...a, labels: { changed: 'yes' } });
  t.same(await watch.read(), ['MODIFIED a']);
  const d = site.put(namespace('d'));
  t.same(await watch.read(), ['ADDED d']);
  site.delete(d);
  t.same(await watch.read(), ['DELETED d']);
  site.delete(everywhere);
  t.same(await watch.read(), ['DELETED a']);
});

t.test(
  'a namespace whose labels come to match is ADDED, one whose labels no longer do is DELETED',
  async (t) => {
    const site = namespacesSite([a, b, VIEWER, inA, inB]);
    const watch = await site.watch('alice', 'labelSelector=env%3Dprod');
    t.same(await watch.read(), ['ADDED b']);
    site.put({ ...b, labels: { env: 'test' } });
    t.same(await watch.read(), ['DELETED b']);
    site.put({ ...a, labels: { env: 'prod' } });
    t.same(await watch.read(), ['ADDED a']);
  },
);

t.test('D034 WatchList: all objects, then a bookmark that says so; without its match 422', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA, inB]);
  const list = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const watch = await site.watch('alice', `${list}&${BOOKMARKS}`);
  t.same(await watch.read(), ['ADDED a', 'ADDED b', 'BOOKMARK']);
  t.same(watch.events.at(-1)?.object, {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: {
      resourceVersion: String(site.index.revision),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    },
    spec: {},
    status: {},
  });
  const empty = await site.watch('bob', `${list}&${BOOKMARKS}`);
  t.same(await empty.read(), ['BOOKMARK'], 'also if there are none');
  await t.rejects(site.watch('alice', 'sendInitialEvents=true'), {
    code: 'ListOptionsInvalid',
    message:
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  });
});

t.test('D035 a watch begins with all objects, or goes on from a list without a gap', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  t.same(await (await site.watch('alice')).read(), ['ADDED a']);
  t.same(await (await site.watch('alice', 'resourceVersion=0')).read(), ['ADDED a']);
  const list = await site.get('alice');
  site.put(inB);
  const watch = await site.watch('alice', `resourceVersion=${list?.resourceVersion}`);
  t.same(await watch.read(), ['ADDED b']);
  site.delete(inB);
  const later = await site.watch('alice', `resourceVersion=${list?.resourceVersion}`);
  t.same(await later.read(), ['DELETED b'], 'also if it was revoked again');
  t.same(Object.keys(later.events[0]?.object ?? {}), ['kind', 'apiVersion', 'metadata', 'spec', 'status']);
  t.notMatch(later.lines[0], /prod/, 'of what the user does not see, only the name is told');
});

t.test('a role that many namespaces use changes: no name that the user may not see is told', async (t) => {
  const secret = namespace('globex-payroll');
  const inSecret = roleBinding('globex-payroll', 'x', 'ClusterRole/viewer', [user('globex:gina')]);
  const site = namespacesSite([a, secret, VIEWER, inA, inSecret]);
  const { revision } = site.index;
  site.put({
    ...VIEWER,
    rules: [...VIEWER.rules, { verbs: ['list'], apiGroups: [''], resources: ['pods'] }],
  });
  for (const query of ['', `&${BOOKMARKS}`]) {
    const watch = await site.watch('alice', `resourceVersion=${revision}${query}`);
    await watch.read();
    t.notMatch(watch.lines.join(''), /globex/);
  }
});

t.test('D036 a revision that cannot be replayed ends with one ERROR event 410', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const tooOld = await site.watch('alice', 'resourceVersion=1');
  t.same(await tooOld.read(), ['ERROR']);
  t.equal(tooOld.ended, true);
  t.match(tooOld.events[0]?.object, { kind: 'Status', code: 410, reason: 'Expired' });

  const { revision } = site.index;
  site.put(clusterRoleBinding('getters', 'ClusterRole/viewer', [user('acme:alice')]));
  const unknown = await site.watch('alice', `resourceVersion=${revision}`);
  t.same(await unknown.read(), ['ERROR'], 'after a change of the access to all namespaces');
  const fine = await site.watch('bob', `resourceVersion=${revision}`);
  t.same(await fine.read(), [], 'which concerns no other user');
});

t.test('a watch can go on from the revision of each list', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const getters = clusterRoleBinding('getters', 'ClusterRole/viewer', [user('acme:alice')]);
  const revision = site.index.revision + 10;
  // The other resources do not know yet that they are complete through this revision.
  site.index.put({ ...getters, revision });
  const waiting = site.get('alice');
  const other = await site.get('bob');
  t.ok(Number(other?.resourceVersion) < revision, 'users whom the change does not concern wait for nothing');
  for (const resource of INDEXED_RESOURCES) site.index.progress(resource, revision);
  const list = await waiting;
  t.same(list?.names, ['a', 'b']);
  t.equal(list?.resourceVersion, String(revision));
  const watch = await site.watch('alice', `resourceVersion=${list?.resourceVersion}`);
  t.same(await watch.read(), []);
  t.equal(watch.ended, false);
});

t.test('a list does not wait forever for a revision to watch from', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const { revision } = site.index;
  const getters = clusterRoleBinding('getters', 'ClusterRole/viewer', [user('acme:alice')]);
  site.index.put({ ...getters, revision: revision + 10 });
  const waiting = site.get('alice');
  await eventually(() => site.clock.untilNext === 3_000);
  site.clock.advance(3_000);
  const list = await waiting;
  t.same(list?.names, ['a', 'b']);
  t.equal(list?.resourceVersion, String(revision));
});

t.test('bookmarks come every minute, and after a revision that was shown early', async (t) => {
  const site = namespacesSite([a, VIEWER, inA]);
  const watch = await site.watch('alice', `resourceVersion=${site.index.revision}&${BOOKMARKS}`);
  site.clock.advance(60_000);
  t.same(await watch.read(), ['BOOKMARK']);
  const { revision } = site.index;
  const changed = { ...a, revision: revision + 10 };
  site.index.put(changed);
  t.same(await watch.read(), ['MODIFIED a', 'BOOKMARK']);
  t.equal(watch.events.at(-1)?.resourceVersion, String(revision), 'back to where all is known');
  for (const resource of ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'] as const)
    site.index.progress(resource, revision + 10);
  t.same(await watch.read(), ['BOOKMARK']);
  t.equal(watch.events.at(-1)?.resourceVersion, String(revision + 10));
});

t.test('a watch ends at its timeout, when the index is stale, and when it is replaced', async (t) => {
  const site = namespacesSite([a, VIEWER, inA]);
  const short = await site.watch('alice', 'timeoutSeconds=10');
  const long = await site.watch('alice');
  site.clock.advance(10_000);
  t.equal(short.ended, true);
  t.equal(long.ended, false);
  site.becomeStale();
  t.equal(long.ended, true);

  const other = namespacesSite([a, VIEWER, inA]);
  const open = await other.watch('alice');
  other.access.stop();
  t.equal(open.ended, true);
});

t.test('a change that is learned late is replayed to a client that has seen a later revision', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA, inB]);
  const { revision } = site.index;
  site.index.put({ ...a, revision: revision + 10 });
  const early = await site.watch('alice', `resourceVersion=${revision + 10}`);
  t.same(await early.read(), []);
  early.close();
  site.index.delete({ ...inB, revision: revision + 5 });
  const watch = await site.watch('alice', `resourceVersion=${revision + 10}`);
  t.same(await watch.read(), ['ERROR'], 'a right that was taken: the client lists again');
});

t.test('tables', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA, inB]);
  const table = [['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json']] as const;
  const watch = await site.watch('alice', BOOKMARKS, table);
  t.same(await watch.read(), ['ADDED a', 'ADDED b', 'BOOKMARK']);
  const columns = watch.events.map(({ object }) => 'columnDefinitions' in object && object.columnDefinitions);
  t.equal(columns.filter(Array.isArray).length, 1, 'described in the first event only');
});

t.test('a user whose groups have changed between two requests', async (t) => {
  const inGroup = (place: string, name: string) =>
    roleBinding(place, `view-${name}`, 'ClusterRole/viewer', [group(`keystone:project:${name}`)]);
  const as = (...projects: string[]) => ({
    ...keystoneIdentity('alice'),
    groups: projects.map((project) => `keystone:project:${project}`),
  });
  const objects = [a, b, VIEWER, inGroup('a', 'one'), inGroup('b', 'two')];
  const revisionOf = (reply: { resourceVersion: string } | undefined) =>
    `resourceVersion=${reply?.resourceVersion}&${BOOKMARKS}`;

  await t.test('does not go on from before, and lists again once', async (t) => {
    const site = namespacesSite(objects);
    const before = await site.get(as('one', 'two'));
    t.same(before?.names, ['a', 'b']);
    const resumed = await site.watch(as('one'), revisionOf(before));
    t.same(await resumed.read(), ['ERROR']);
    t.match(resumed.events[0]?.object, { code: 410, reason: 'Expired' });
    t.ok(resumed.ended);
    const again = await site.get(as('one'));
    t.same(again?.names, ['a']);
    const watch = await site.watch(as('one'), revisionOf(again));
    t.same(await watch.read(), [], 'also if nothing in the cluster has changed since');
    t.notOk(watch.ended);
  });

  await t.test('nor if another client of the user has listed in between', async (t) => {
    const site = namespacesSite(objects);
    const before = await site.get(as('one', 'two'));
    site.put(viewerIn('a', 'carol'));
    const other = await site.get(as('one'));
    t.same(await (await site.watch(as('one'), revisionOf(before))).read(), ['ERROR']);
    t.same(await (await site.watch(as('one'), revisionOf(other))).read(), []);
  });

  await t.test('nor if the groups come back', async (t) => {
    const site = namespacesSite(objects);
    await site.get(as('one', 'two'));
    const without = await site.get(as('one'));
    const watch = await site.watch(as('two', 'one'), revisionOf(without));
    t.same(await watch.read(), ['ERROR'], 'a namespace that is gained is not missed');
  });

  await t.test('goes on in whatever order the groups are, and from later revisions', async (t) => {
    const site = namespacesSite(objects);
    const before = await site.get(as('one', 'two'));
    t.same(await (await site.watch(as('two', 'one'), revisionOf(before))).read(), []);
    await site.get(as('one'));
    const { revision } = site.put(viewerIn('a', 'carol'));
    t.same(await (await site.watch(as('one'), `resourceVersion=${revision}&${BOOKMARKS}`)).read(), []);
    t.same(await (await site.watch('bob', revisionOf(before))).read(), [], 'another user is not concerned');
  });

  await t.test('begins anew with a watch of all objects, and goes on from its bookmark', async (t) => {
    const site = namespacesSite(objects);
    await site.get(as('one', 'two'));
    const all = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&${BOOKMARKS}`;
    const watch = await site.watch(as('one'), all);
    t.same(await watch.read(), ['ADDED a', 'BOOKMARK']);
    const bookmark = watch.events.at(-1);
    const next = `resourceVersion=${bookmark?.resourceVersion}&${BOOKMARKS}`;
    t.same(await (await site.watch(as('one'), next)).read(), []);
  });
});

t.test(
  'a watch that ends because the user’s access has changed tells its client to list again',
  async (t) => {
    const site = namespacesSite([a, VIEWER, inA]);
    const answer = await site.answerer.answer(site.outgoing('alice', '/api/v1/namespaces?watch=1'));
    if (answer === undefined || 'body' in answer) throw new TypeError('it is no watch');
    t.match(JSON.parse(answer.expired?.() ?? ''), {
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    });
  },
);

t.test('groups that are looked up are looked at again each minute', async (t) => {
  let lookUp = async (): Promise<string[]> => ['one'];
  const subjectOf = async () =>
    uniformSubject({ tenant: '', username: 'acme:alice', groups: await lookUp() });
  const bound = roleBinding('a', 'one', 'ClusterRole/viewer', [group('one')]);
  const open = async () => {
    const subjects = { subjectOf, requestAs: async (outgoing: Outgoing) => outgoing };
    const site = namespacesSite([a, VIEWER, bound], { subjects });
    const watch = await site.watch({ ...keystoneIdentity('alice'), assignmentsOf: 'u1' });
    const pass = async () => {
      site.clock.advance(60_000);
      return watch.read();
    };
    t.same(await watch.read(), ['ADDED a']);
    return { watch, pass };
  };

  const changed = await open();
  t.same(await changed.pass(), []);
  lookUp = async () => [];
  t.same(await changed.pass(), ['ERROR']);
  t.ok(changed.watch.ended);

  lookUp = async () => ['one'];
  const unavailable = await open();
  lookUp = async () => {
    throw new StatusError('KeystoneUnavailable', 'Keystone cannot be asked');
  };
  t.same(await unavailable.pass(), [], 'while Keystone cannot be asked they count as unchanged');
  lookUp = async () => {
    throw new StatusError('IdentityUnusable', 'no such user');
  };
  t.same(await unavailable.pass(), ['ERROR'], 'a user who is refused is shown nothing more');
  t.ok(unavailable.watch.ended);
});
