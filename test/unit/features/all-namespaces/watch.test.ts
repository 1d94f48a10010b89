/** Watches of all namespaces by a user who may watch in some of them. */
import { setImmediate as tick } from 'node:timers/promises';
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { contentDigits } from '../../../../src/kubernetes/lists/shown-revision.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import type { StreamedResponse } from '../../../../src/proxy/response/response-stream.ts';
import { StreamRegistry } from '../../../../src/proxy/streams/stream-registry.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { allNamespacesSite, podReader, sharedMode } from '../../../support/all-namespaces.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { bookmark, createWatches, event, readWatch } from '../../../support/namespaced-watches.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { clusterRole, namespace, rbacObject, rbacObjects } from '../../../support/rbac-objects.ts';
import { streamFacts } from '../../../support/stream-facts.ts';

/** A watch from the revision of a list of these namespaces. */
function podsOf(...names: readonly string[]): string {
  return `/api/v1/pods?watch=1&resourceVersion=5${contentDigits(names)}`;
}

const PODS = podsOf('a', 'b', 'c');

interface Options {
  readonly objects?: readonly StoredObject[];
  readonly mode?: TenancyMode;
  readonly streams?: StreamRegistry;
}

function watchSite(options: Options = {}) {
  const { objects = podReader(['a', 'b', 'c']), mode = sharedMode, streams } = options;
  const watches = createWatches();
  const index = accessIndexOf(...objects);
  const changes = { streamer: watches.streamer, ...(streams && { streams }) };
  const site = allNamespacesSite({ index, mode, changes });
  async function answer(target = PODS) {
    return site.handle(site.outgoing(target));
  }
  async function open(target = PODS): Promise<StreamedResponse> {
    const answered = await answer(target);
    if (answered === undefined || !('start' in answered)) throw new Error('no stream');
    return answered;
  }
  function binding(place: string): StoredObject {
    const found = objects.find(({ name }) => name === `reader-${place}`);
    if (found === undefined) throw new Error('no binding');
    return found;
  }
  return { ...site, ...watches, answer, open, binding };
}

t.test('a user gets the events of the namespaces in which they may watch, each unchanged', async (t) => {
  const site = watchSite({ objects: [...podReader(['a', 'b']), namespace('c')] });
  const answer = await site.open(`${podsOf('a', 'b')}&labelSelector=app%3Dx&timeoutSeconds=300`);
  t.equal(headerValue(answer.headers, 'stonegate-filtered'), 'rbac');
  t.equal(headerValue(answer.headers, 'content-type'), 'application/json');
  t.same(
    site.opened.map(({ target }) => target),
    ['a', 'b'].map(
      (name) =>
        `/api/v1/namespaces/${name}/pods?watch=1&labelSelector=app%3Dx&resourceVersion=5&allowWatchBookmarks=true`,
    ),
  );
  const client = readWatch(answer);
  const exact =
    '{"type":"ADDED","object":{"metadata":{"name":"p","namespace":"a","resourceVersion":"6"},"n":9007199254740993}}';
  site.latest('a').write(exact.slice(0, 20));
  site.latest('a').write(`${exact.slice(20)}\n`);
  await client.until(['ADDED a/p']);
  t.equal(client.text, `${exact}\n`);
  site.send('b', event('MODIFIED', 'b', 'q', 7));
  await client.until(['ADDED a/p', 'MODIFIED b/q']);
  client.leave();
});

t.test('each namespace of a watch counts against the streams of its user', async (t) => {
  const streams = new StreamRegistry({
    limits: { perUser: 5, perTenant: 9 },
    clock: createFakeClock(),
    random: systemRandom,
    telemetry: noTelemetry,
  });
  const site = watchSite({ streams });
  const open = () =>
    site.handle({ ...site.outgoing(PODS), stream: streams.open(streamFacts()) }) ??
    Promise.reject(new Error('forwarded'));
  await open();
  await t.rejects(open(), { code: 'StreamLimitExceeded', message: /the user "alice" has 4/ });
  t.equal(site.opened.length, 3, 'the second opens no watch at the API server');
});

t.test("a watch that is over its tenant's rate opens none of its namespaces", async (t) => {
  const site = watchSite();
  site.refuse(new StatusError('TenantRateExceeded', 'too many'));
  await t.rejects(site.answer(), { code: 'TenantRateExceeded' });
  t.equal(site.opened.length, 0);
});

t.test('D039 a bookmark follows the events, at the revision that all namespaces have reached', async () => {
  const digits = contentDigits(['a', 'b', 'c']);
  const site = watchSite();
  const client = readWatch(await site.open(`${PODS}&allowWatchBookmarks=true`));
  site.send('a', event('ADDED', 'a', 'p', 11));
  await client.until(['ADDED a/p', `BOOKMARK 5${digits}`]);
  site.send('b', bookmark(9));
  site.send('c', bookmark(12));
  await client.until(['ADDED a/p', `BOOKMARK 5${digits}`, `BOOKMARK 9${digits}`]);
  client.leave();
  const silent = readWatch(await site.open());
  site.send('a', bookmark(10), event('ADDED', 'a', 'p', 11));
  await silent.until(['ADDED a/p']);
  silent.leave();
});

t.test('in arktos mode no bookmarks are requested; Stonegate sends its own after events', async (t) => {
  const mode = createArktosMode({ systemTenant: 'system', domains: {} });
  const site = watchSite({ objects: podReader(['a'], 'acme'), mode });
  const client = readWatch(await site.open(`${podsOf('a')}&allowWatchBookmarks=true`));
  t.equal(site.opened[0]?.target, '/api/v1/tenants/acme/namespaces/a/pods?watch=1&resourceVersion=5');
  site.send('a', bookmark(10));
  site.send('a', event('ADDED', 'a', 'p', 11));
  await client.until(['ADDED a/p', `BOOKMARK 11${contentDigits(['a'])}`]);
  client.leave();
});

t.test('a watch from a revision that is not from a list of the same namespaces gets 410', async (t) => {
  const site = watchSite();
  for (const revision of ['5', '500', `5${contentDigits(['a', 'b'])}`, `700${contentDigits(['a', 'd'])}`]) {
    const client = readWatch(await site.open(`/api/v1/pods?watch=1&resourceVersion=${revision}`));
    t.same(client.events, ['ERROR 410'], revision);
    t.ok(client.ended);
  }
  t.same(site.opened, [], 'the API server is not asked');
  const list = JSON.parse(String((await site.get())?.body));
  t.equal(list.metadata.resourceVersion, `500${contentDigits(['a', 'b', 'c'])}`);
});

t.test('a user who may list but not watch in a namespace gets the API server’s refusal', async (t) => {
  const lists = rbacObjects(`
    Namespace b
    ClusterRole lister: list pods
    RoleBinding b/lister: ClusterRole/lister to User acme:alice`);
  const site = watchSite({ objects: [...podReader(['a']), ...lists] });
  t.equal((await site.get())?.status, 200);
  t.equal(await site.answer(podsOf('a', 'b')), undefined);
});

t.test(
  'sendInitialEvents: the bookmark after the objects is sent once all namespaces have sent theirs',
  async (t) => {
    const site = watchSite({ objects: podReader(['a', 'b']) });
    const client = readWatch(
      await site.open(
        '/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
      ),
    );
    site.send('a', event('ADDED', 'a', 'p', 6), bookmark(20, true));
    await client.until(['ADDED a/p']);
    site.send('b', event('ADDED', 'b', 'q', 7), bookmark(21, true));
    await client.until(['ADDED a/p', 'ADDED b/q', `BOOKMARK 20${contentDigits(['a', 'b'])} end`]);
    t.notOk(client.ended);
    client.leave();
  },
);

t.test(
  'D040 when the watch of one namespace ends or breaks off, all of them end, and the client can resume',
  async (t) => {
    const ends: ((site: ReturnType<typeof watchSite>) => void)[] = [
      (site) => site.latest('b').end(),
      (site) => site.latest('b').destroy(new Error('broke off')),
      (site) => site.latest('b').write('garbage\n'),
      (site) => site.latest('b').write(Buffer.alloc(17 * 1024 * 1024, 'x')),
    ];
    for (const end of ends) {
      const site = watchSite();
      const client = readWatch(await site.open(`${PODS}&allowWatchBookmarks=true`));
      site.send('b', event('ADDED', 'b', 'q', 7));
      const seen = ['ADDED b/q', `BOOKMARK 5${contentDigits(['a', 'b', 'c'])}`];
      await client.until(seen);
      end(site);
      await eventually(() => client.ended);
      t.same(client.events, seen);
      t.ok(site.areClosed());
    }
  },
);

t.test('a client that disconnects before the response starts leaves no watch open', async (t) => {
  const site = watchSite();
  const exchange = fakeExchange({ target: PODS });
  await site.handle(outgoingOf(sharedMode, keystoneIdentity('alice'), exchange));
  t.equal(site.opened.length, 3);
  exchange.leave();
  t.ok(site.areClosed());
});

t.test(
  'D038 no event is sent from a namespace after access is revoked; the watch ends with 410 within 5 s',
  async (t) => {
    const site = watchSite();
    const client = readWatch(await site.open());
    site.delete(site.binding('b'));
    site.send('b', event('ADDED', 'b', 'q', 600));
    await tick();
    t.ok(site.areClosed(), 'closed at once');
    t.notOk(client.ended, 'the clients of many watches do not all return at once');
    site.clock.advance(5_000);
    await client.until(['ERROR 410']);
    t.ok(client.ended);
  },
);

t.test(
  'D038 the watch also ends with 410 after a grant, a changed role or the deletion of a namespace',
  async (t) => {
    const changes: ((site: ReturnType<typeof watchSite>) => void)[] = [
      (site) => {
        site.put(namespace('d'));
        site.put(rbacObject('RoleBinding d/new: ClusterRole/pod-reader to User acme:alice'));
      },
      (site) => site.put(rbacObject('ClusterRoleBinding all: ClusterRole/pod-reader to User acme:alice')),
      (site) => site.put(clusterRole('pod-reader', [])),
      (site) => site.delete(namespace('c')),
    ];
    for (const change of changes) {
      const site = watchSite();
      const client = readWatch(await site.open());
      change(site);
      await tick();
      site.clock.advance(5_000);
      await client.until(['ERROR 410']);
      t.ok(client.ended);
    }
  },
);

t.test('changes that do not concern the user leave the watch alone', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  for (const object of rbacObjects(`
    Namespace d
    RoleBinding d/of-bob: ClusterRole/pod-reader to User acme:bob
    RoleBinding a/again: ClusterRole/pod-reader to User acme:alice`))
    site.put(object);
  await tick();
  site.clock.advance(10_000);
  t.same(client.events, []);
  t.notOk(client.ended);
  client.leave();
});

t.test('an error response for one namespace is the response, and no watch stays open', async (t) => {
  const site = watchSite();
  const body = '{"kind":"Status","code":422}';
  site.faults.set('b', { status: 422, body });
  const answered = await site.answer();
  if (answered === undefined || !('body' in answered)) throw new Error('no response');
  t.same([answered.status, String(answered.body)], [422, body]);
  t.ok(
    site.opened.filter(({ namespace: name }) => name !== 'b').every(({ body: { destroyed } }) => destroyed),
  );
  const down = watchSite();
  down.faults.set('c', new StatusError('UpstreamTimeout', 'too slow'));
  await t.rejects(down.answer(), { code: 'UpstreamTimeout' });
  t.ok(down.areClosed());
});

t.test('the API server is read no faster than the client reads', async (t) => {
  const site = watchSite({ objects: podReader(['a', 'b']) });
  const client = readWatch(await site.open(podsOf('a', 'b')));
  const line = `${JSON.stringify(event('ADDED', 'a', 'p', 6))}\n`;
  const piece = line.repeat(1_000);
  client.stream.pause();
  let pieces = 0;
  while (site.latest('a').write(piece)) pieces += 1;
  await tick();
  t.equal(client.text, '');
  t.notOk(site.latest('a').write(piece), 'the response waits, and so does its connection');
  client.stream.resume();
  const all = line.length * 1_000 * (pieces + 2);
  await eventually(() => client.text.length === all);
  t.notOk(client.ended);
  client.leave();
  t.ok(site.areClosed());
});

t.test('the watch ends at the next check if the index is not current', async (t) => {
  const site = watchSite({ objects: podReader(['a']) });
  const client = readWatch(await site.open(podsOf('a')));
  site.becomeStale();
  await tick();
  site.clock.advance(5_000);
  await client.until(['ERROR 410']);
  t.ok(site.areClosed());
});
