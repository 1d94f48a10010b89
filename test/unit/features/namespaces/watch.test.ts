/**
 * A watch of namespaces by a user who may not list them all: grants and revocations are events, and no event
 * shows a namespace that the user may not see.
 */
import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { Outgoing } from '../../../../src/proxy/request-context.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { createTenantNamespaces } from '../../../../src/rbac/tenant-namespaces.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { type NamespacesSite, namespacesSite } from '../../../support/namespaces-site.ts';
import { namespace, rbacObject } from '../../../support/rbac-objects.ts';
import { tokenScope } from '../../../support/token-scope.ts';

const VIEWER = rbacObject('ClusterRole viewer: get namespaces');
const EVERYWHERE = rbacObject('ClusterRoleBinding all: ClusterRole/viewer to User acme:alice');

const viewerIn = (place: string, name: string) =>
  rbacObject(`RoleBinding ${place}/view-${name}: ClusterRole/viewer to User acme:${name}`);

const [a, b, c] = [namespace('a'), namespace('b', { labels: { env: 'prod' } }), namespace('c')];
const inA = viewerIn('a', 'alice');
const inB = viewerIn('b', 'alice');
const byGroup = rbacObject('RoleBinding c/all: ClusterRole/viewer to Group stonegate:tenant:acme');

const BOOKMARKS = 'allowWatchBookmarks=true';

/** The query of a watch from the user's list, as it is now. */
async function fromList(site: NamespacesSite, name = 'alice'): Promise<string> {
  const list = await site.get(name);
  return `resourceVersion=${list?.resourceVersion}`;
}

t.test(
  'D030 a grant is an ADDED event with the object’s own resourceVersion, followed by a bookmark',
  async (t) => {
    const site = namespacesSite([a, b, VIEWER, inA]);
    const watch = await site.watch('alice', `${await fromList(site)}&${BOOKMARKS}`);
    t.same(await watch.read(), []);
    const granted = site.put(inB);
    t.same(await watch.read(), ['ADDED b', 'BOOKMARK']);
    const [added, bookmark] = watch.events;
    t.equal(added?.resourceVersion, String(b.revision));
    t.same(added?.object, JSON.parse(b.json));
    t.match(bookmark?.resourceVersion, new RegExp(`^${granted.revision}[0-9]{8}$`));
    t.equal(bookmark?.resourceVersion, (await site.get('alice'))?.resourceVersion);
  },
);

t.test('D031 a revocation is a DELETED event with the last state that the user saw', async (t) => {
  const site = namespacesSite([a, b, c, VIEWER, inA, inB, byGroup]);
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a', 'ADDED b', 'ADDED c']);
  const second = site.put({ ...inB, name: 'again' });
  site.delete(inB);
  t.same(await watch.read(), [], 'another binding still grants it');
  site.delete(second);
  t.same(await watch.read(), ['DELETED b']);
  const gone = watch.events.at(-1);
  t.same(gone?.object, JSON.parse(b.json));
  site.put({ ...b, labels: { env: 'secret' } });
  t.same(await watch.read(), [], 'later changes are not shown');
  site.delete(byGroup);
  t.same(await watch.read(), ['DELETED c']);
});

t.test('D032 a watch of one name is silent about all others', async (t) => {
  const site = namespacesSite([a, b, c, VIEWER, inA, inB]);
  for (const from of ['all', 'list']) {
    const query = `fieldSelector=metadata.name%3Dc&${from === 'list' ? await fromList(site) : ''}`;
    const watch = await site.watch('alice', query);
    site.put({ ...a, labels: { changed: 'yes' } });
    site.delete(inB);
    t.same(await watch.read(), []);
    const granted = site.put(viewerIn('c', 'alice'));
    t.same(await watch.read(), ['ADDED c']);
    site.delete(granted);
    t.same(await watch.read(), ['DELETED c']);
    watch.close();
  }
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

t.test(
  'D034 a WatchList sends all objects and a bookmark that says so; without resourceVersionMatch it gets 422',
  async (t) => {
    const site = namespacesSite([a, b, VIEWER, inA, inB]);
    const list = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const watch = await site.watch('alice', `${list}&${BOOKMARKS}`);
    t.same(await watch.read(), ['ADDED a', 'ADDED b', 'BOOKMARK']);
    t.same(
      watch.events.at(-1)?.object,
      parse(`
      kind: Namespace
      apiVersion: v1
      metadata:
        resourceVersion: '${(await site.get('alice'))?.resourceVersion}'
        annotations: {k8s.io/initial-events-end: 'true'}
      spec: {}
      status: {}`),
    );
    const empty = await site.watch('bob', `${list}&${BOOKMARKS}`);
    t.same(await empty.read(), ['BOOKMARK'], 'also if there are none');
    await t.rejects(site.watch('alice', 'sendInitialEvents=true'), {
      code: 'ListOptionsInvalid',
      message:
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    });
  },
);

t.test('D035 a watch begins with all objects, or continues from a list without a gap', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  t.same(await (await site.watch('alice')).read(), ['ADDED a']);
  t.same(await (await site.watch('alice', 'resourceVersion=0')).read(), ['ADDED a']);
  const list = await site.get('alice');
  site.put(inB);
  const watch = await site.watch('alice', `resourceVersion=${list?.resourceVersion}`);
  t.same(await watch.read(), ['ADDED b']);
  site.delete(inB);
  const later = await site.watch('alice', `resourceVersion=${list?.resourceVersion}`);
  t.same(await later.read(), [], 'a grant that was revoked again causes no event');
  const listed = await fromList(site);
  site.delete(inA);
  const revoked = await site.watch('alice', listed);
  t.same(await revoked.read(), ['DELETED a']);
});

t.test(
  'D036 a watch from a revision that is not of the user’s list ends with one ERROR event 410',
  async (t) => {
    const site = namespacesSite([a, b, VIEWER, inA]);
    for (const revision of ['1', String(a.revision), `${site.index.highestRevision}12345678`]) {
      const tooOld = await site.watch('alice', `resourceVersion=${revision}`);
      t.same(await tooOld.read(), ['ERROR']);
      t.equal(tooOld.ended, true);
      t.match(tooOld.events[0]?.object, { kind: 'Status', code: 410, reason: 'Expired' });
    }
  },
);

t.test('a watch from a list gets everything that has changed since, up to a thousand changes', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA]);
  const from = await fromList(site);
  site.put(EVERYWHERE);
  t.same(await (await site.watch('alice', from)).read(), ['ADDED b']);
  const watch = await site.watch('alice');
  for (let change = 0; change < 999; change += 1) {
    site.put({ ...b, labels: { change: String(change) }, json: '{"metadata":{}}' });
    await watch.read();
  }
  t.equal((await (await site.watch('alice', from)).read()).length, 1_000);
  site.put({ ...b, labels: { change: 'last' } });
  await watch.read();
  t.same(await (await site.watch('alice', from)).read(), ['ERROR']);
});

t.test('a watch goes on while so many others ask that its own view is evicted', async (t) => {
  const site = namespacesSite([a, b, VIEWER, inA, viewerIn('a', 'bob')]);
  const listed = await fromList(site, 'bob');
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a']);
  const groups = Array.from({ length: 10_000 }, (_, at) => `g${at}`);
  for (let at = 0; at < 70; at += 1) await site.get(keystoneIdentity(`user-${at}`, { groups }));
  site.put(inB);
  site.put(viewerIn('b', 'bob'));
  t.same(await (await site.watch('bob', listed)).read(), ['ERROR'], 'a client without a watch lists again');
  t.same(await watch.read(), ['ADDED b']);
  t.same((await site.get('alice'))?.names, ['a', 'b']);
  site.delete(inB);
  t.same(await watch.read(), ['DELETED b']);
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

t.test('groups that are looked up are checked again each minute', async (t) => {
  let lookUp = async (): Promise<string[]> => ['one'];
  const subjectOf = async () =>
    uniformSubject({ tenant: '', username: 'acme:alice', groups: await lookUp() });
  const bound = rbacObject('RoleBinding a/one: ClusterRole/viewer to Group one');
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

t.test(
  "a token of the tenant sees a namespace go when it is labelled as another tenant's, and come back",
  async (t) => {
    const owned = (name: string, tenant: string) =>
      namespace(name, { labels: { 'stonegate.dev/tenant': tenant } });
    const site = namespacesSite([VIEWER, EVERYWHERE, namespace('a'), owned('b', 'globex')]);
    const accessToken = tokenScope('tenant/read', [], createTenantNamespaces(site.access)('acme'));
    const token = { ...keystoneIdentity('alice'), accessToken };
    t.same((await site.get(token))?.names, ['a']);
    const watch = await site.watch(token);
    t.same(await watch.read(), ['ADDED a']);
    site.put(owned('a', 'globex'));
    t.same(await watch.read(), ['DELETED a']);
    site.put(owned('b', 'acme'));
    t.same(await watch.read(), ['ADDED b']);
    watch.close();
  },
);
