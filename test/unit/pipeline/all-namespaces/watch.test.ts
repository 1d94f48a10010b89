/** Watches of all namespaces, of a user who may watch in some. */
import { setImmediate as tick } from 'node:timers/promises';
import t from 'tap';
import { type DecidingWatch, WatchDecisions } from '../../../../src/access/all-namespaces/watch-decisions.ts';
import type { StoredObject } from '../../../../src/api/rbac-v1.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { TurnQueue } from '../../../../src/lib/turn-queue.ts';
import type { StreamedAnswer } from '../../../../src/pipeline/response/answer-stream.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { allNamespacesSite, podReader, sharedMode } from '../../../support/all-namespaces.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { bookmark, createWatches, event, readWatch } from '../../../support/namespaced-watches.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const PODS = '/api/v1/pods?watch=1&resourceVersion=5';

interface Options {
  readonly objects?: readonly StoredObject[];
  /** What happens in another turn, if decisions are made one in each. */
  readonly turns?: (() => void)[];
  readonly mode?: TenancyMode;
}

function watchSite({ objects = podReader(['a', 'b', 'c']), mode = sharedMode, turns }: Options = {}) {
  const watches = createWatches();
  const index = accessIndexOf(...objects);
  const decisions =
    turns &&
    new WatchDecisions(
      index.index,
      new TurnQueue<DecidingWatch>({
        stepsPerTurn: 1,
        run: (watch) => watch.decide(),
        nextTurn: (action) => turns.push(action),
      }),
    );
  const changes = { streamer: watches.streamer, ...(decisions && { decisions }) };
  const site = allNamespacesSite({ index, mode, changes });
  async function answer(target = PODS) {
    return site.answerer.answer(site.outgoing(target));
  }
  async function open(target = PODS): Promise<StreamedAnswer> {
    const answered = await answer(target);
    if (answered === undefined || 'body' in answered) throw new Error(`no stream: ${answered?.status}`);
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
  const answer = await site.open(`${PODS}&labelSelector=app%3Dx&timeoutSeconds=300`);
  t.equal(headerValue(answer.headers, 'stonegate-filtered'), 'rbac');
  t.equal(headerValue(answer.headers, 'content-type'), 'application/json');
  t.same(
    site.opened.map(({ target }) => target),
    ['a', 'b'].map(
      (name) =>
        `/api/v1/namespaces/${name}/pods?watch=1&resourceVersion=5&labelSelector=app%3Dx&allowWatchBookmarks=true`,
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

t.test('the legacy prefix /watch/ is served in the same way', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open('/api/v1/watch/pods'));
  t.equal(site.opened[0]?.target, '/api/v1/watch/namespaces/a/pods?allowWatchBookmarks=true');
  client.leave();
});

t.test(
  'D039 bookmarks pass when all namespaces have passed them, and only if the client wants them',
  async (t) => {
    const site = watchSite();
    const client = readWatch(await site.open(`${PODS}&allowWatchBookmarks=true`));
    site.send('a', bookmark(10));
    site.send('b', bookmark(9));
    site.send('a', event('ADDED', 'a', 'p', 11));
    await client.until(['ADDED a/p']);
    site.send('c', bookmark(12));
    await client.until(['ADDED a/p', 'BOOKMARK 9']);
    client.leave();
    const other = watchSite({ objects: podReader(['a']) });
    const silent = readWatch(await other.open());
    other.send('a', bookmark(10), event('ADDED', 'a', 'p', 11));
    await silent.until(['ADDED a/p']);
    t.notOk(silent.ended);
    silent.leave();
  },
);

t.test('in arktos mode no bookmarks are requested, and none pass', async (t) => {
  const mode = createArktosMode({ systemTenant: 'system', domains: {} });
  const site = watchSite({ objects: podReader(['a'], 'acme'), mode });
  const client = readWatch(await site.open(`${PODS}&allowWatchBookmarks=true`));
  t.equal(site.opened[0]?.target, '/api/v1/tenants/acme/namespaces/a/pods?watch=1&resourceVersion=5');
  site.send('a', bookmark(10), event('ADDED', 'a', 'p', 11));
  await client.until(['ADDED a/p']);
  client.leave();
});

t.test(
  'sendInitialEvents: the bookmark behind the objects passes when all namespaces have sent theirs',
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
    await client.until(['ADDED a/p', 'ADDED b/q', 'BOOKMARK 20 end']);
    t.notOk(client.ended);
    client.leave();
  },
);

t.test('D040 a watch that the API server ends goes on from its last revision', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  site.send('b', event('ADDED', 'b', 'q', 7), bookmark(30));
  await client.until(['ADDED b/q']);
  await tick();
  site.clock.advance(1_800_000);
  site.latest('b').end();
  await eventually(() => site.opened.length === 4);
  t.equal(
    site.opened[3]?.target,
    '/api/v1/namespaces/b/pods?watch=1&resourceVersion=30&allowWatchBookmarks=true',
  );
  site.send('b', event('MODIFIED', 'b', 'q', 31));
  site.send('a', event('ADDED', 'a', 'p', 32));
  await client.until(['ADDED b/q', 'MODIFIED b/q', 'ADDED a/p']);
  client.leave();
});

t.test('D040 all watches at the API server are closed at once when the client leaves', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  t.notOk(site.areClosed());
  client.leave();
  t.ok(site.areClosed());
});

t.test(
  'a client that leaves while the watches are opened, or before the response, leaves none open',
  async (t) => {
    const site = watchSite();
    const exchange = fakeExchange({ target: PODS });
    await site.answerer.answer(outgoingOf(sharedMode, keystoneIdentity('alice'), exchange));
    t.equal(site.opened.length, 3);
    exchange.leave();
    t.ok(site.areClosed());
  },
);

t.test('a watch that ends at once, breaks off, or cannot go on ends all with 410', async (t) => {
  const down = new StatusError('UpstreamUnavailable', 'down');
  const ends: ((site: ReturnType<typeof watchSite>) => void)[] = [
    (site) => site.latest('b').end(),
    (site) => site.latest('b').destroy(new Error('broke off')),
    (site) => site.latest('b').end('{"type":"ADDED"'),
    (site) => site.latest('b').write('garbage\n'),
    (site) => site.latest('b').write(Buffer.alloc(17 * 1024 * 1024, 'x')),
    (site) => {
      site.clock.advance(60_000);
      site.faults.set('b', down);
      site.latest('b').end();
    },
    (site) => {
      site.clock.advance(60_000);
      site.faults.set('b', { status: 403 });
      site.latest('b').end();
    },
  ];
  for (const end of ends) {
    const site = watchSite();
    const client = readWatch(await site.open());
    await tick();
    end(site);
    await client.until(['ERROR 410']);
    t.ok(client.ended);
    t.ok(site.areClosed());
  }
});

t.test('an error event of one namespace passes and ends the watch', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  site.latest('c').write('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n');
  await client.until(['ERROR 410']);
  t.ok(client.ended);
  t.ok(site.areClosed());
});

t.test(
  'D038 no event passes of a namespace that was revoked, and the watch ends with 410 within 5 s',
  async (t) => {
    const site = watchSite();
    const client = readWatch(await site.open());
    site.delete(site.binding('b'));
    t.ok(site.latest('b').destroyed, 'closed at once');
    t.notOk(client.ended, 'the clients of many watches do not return at once');
    site.send('a', event('ADDED', 'a', 'p', 600));
    await client.until(['ADDED a/p']);
    site.clock.advance(5_000);
    await client.until(['ADDED a/p', 'ERROR 410']);
    t.ok(client.ended);
  },
);

t.test(
  'D038 the watch ends with 410 also after a grant, with a new namespace, and one that is gone',
  async (t) => {
    const changes: ((site: ReturnType<typeof watchSite>) => void)[] = [
      (site) => {
        site.put(namespace('d'));
        site.put(roleBinding('d', 'new', 'ClusterRole/pod-reader', [user('acme:alice')]));
      },
      (site) => site.put(clusterRoleBinding('all', 'ClusterRole/pod-reader', [user('acme:alice')])),
      (site) => site.put(clusterRole('pod-reader', [])),
      (site) => site.delete(namespace('c')),
    ];
    for (const change of changes) {
      const site = watchSite();
      const client = readWatch(await site.open());
      change(site);
      site.clock.advance(5_000);
      await client.until(['ERROR 410']);
      t.ok(client.ended);
    }
  },
);

t.test('changes that do not concern the user leave the watch alone', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  site.put(namespace('d'));
  site.put(roleBinding('d', 'of-bob', 'ClusterRole/pod-reader', [user('acme:bob')]));
  site.put(roleBinding('a', 'again', 'ClusterRole/pod-reader', [user('acme:alice')]));
  site.clock.advance(10_000);
  t.same(client.events, []);
  t.notOk(client.ended);
  client.leave();
});

t.test('many changes of other namespaces are looked at together, and only those namespaces', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  const { index } = site.access;
  const objectsOf = index.objectsOf.bind(index);
  const readings = t.capture(index, 'objectsOf', (tenant: string) => objectsOf(tenant));
  site.put(namespace('d'));
  for (let at = 0; at < 100; at += 1)
    site.put(roleBinding('d', `other-${at}`, 'ClusterRole/none', [user('acme:alice')]));
  t.equal(readings().length, 0, 'the changes cost nothing');
  site.clock.advance(5_000);
  const { length } = readings();
  t.ok(length > 0 && length < 10, `${length} readings for one decision`);
  t.notOk(client.ended);
  client.leave();
});

t.test('a change while the watches are opened counts', async (t) => {
  const site = watchSite();
  const answer = await site.open();
  site.delete(site.binding('b'));
  const client = readWatch(answer);
  t.ok(site.latest('b').destroyed);
  site.clock.advance(5_000);
  await client.until(['ERROR 410']);
});

t.test('after a reload the watch ends with 410', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  site.access.stop();
  site.clock.advance(5_000);
  await client.until(['ERROR 410']);
  t.ok(site.areClosed());
});

t.test('a watch lasts as long as the client wants, and ends cleanly with what is on its way', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open(`${PODS}&timeoutSeconds=60`));
  site.send('a', event('ADDED', 'a', 'p', 20));
  await client.until(['ADDED a/p']);
  site.clock.advance(60_000);
  site.send('b', event('ADDED', 'b', 'q', 19), event('ADDED', 'b', 'r', 21));
  await client.until(['ADDED a/p', 'ADDED b/q']);
  site.clock.advance(1_000);
  t.ok(client.ended);
  t.same(client.events, ['ADDED a/p', 'ADDED b/q']);
  const endless = watchSite();
  const other = readWatch(await endless.open());
  endless.clock.advance(2_600_000);
  t.notOk(other.ended);
  endless.clock.advance(3_600_000);
  await tick();
  endless.clock.advance(1_000);
  t.ok(other.ended);
});

t.test(
  'a namespace that the API server refuses is left out; if it refuses all, the request is forwarded',
  async (t) => {
    const site = watchSite({ objects: podReader(['a', 'b']) });
    site.faults.set('b', { status: 403 });
    const answer = await site.open();
    t.match(
      headerValue(answer.headers, 'warning'),
      /299 stonegate "the API server refuses to watch pods in b/,
    );
    const client = readWatch(answer);
    site.send('a', event('ADDED', 'a', 'p', 6));
    await client.until(['ADDED a/p']);
    client.leave();
    site.faults.set('a', { status: 403 });
    t.equal(await site.answer(), undefined);
  },
);

t.test('a namespace that is gone when its watch is opened is left out', async (t) => {
  const site = watchSite({ objects: podReader(['a', 'b']) });
  site.faults.set('b', { status: 404 });
  const answer = await site.open();
  t.equal(headerValue(answer.headers, 'warning'), undefined, 'nothing is refused');
  const client = readWatch(answer);
  site.send('a', event('ADDED', 'a', 'p', 6));
  await client.until(['ADDED a/p']);
  client.leave();
});

t.test('another response of one namespace is the response, and no watch stays open', async (t) => {
  const site = watchSite();
  const body = '{"kind":"Status","code":422}';
  site.faults.set('b', { status: 422, body });
  const answered = await site.answer();
  t.equal(answered?.status, 422);
  t.ok(answered && 'body' in answered && String(answered.body) === body);
  t.ok(
    site.opened.filter(({ namespace: name }) => name !== 'b').every(({ body: { destroyed } }) => destroyed),
  );
  const down = watchSite();
  down.faults.set('c', new StatusError('UpstreamTimeout', 'too slow'));
  await t.rejects(down.answer(), { code: 'UpstreamTimeout' });
  t.ok(down.areClosed());
});

t.test('more namespaces than the limit of watches are refused', async (t) => {
  const site = watchSite({ objects: podReader(Array.from({ length: 51 }, (_, at) => `ns-${at}`)) });
  await t.rejects(site.answer(), {
    code: 'TooManyNamespaces',
    message: /can watch resource "pods" in 51 namespaces, but one request is sent to 50 at most/,
  });
  t.same(site.opened, []);
});

t.test('the watch ends if the roles of a user, which are looked up, change', async (t) => {
  const watches = createWatches();
  const granted = { a: ['project-a'], b: ['project-b'] };
  const rules = [{ verbs: ['watch'], apiGroups: [''], resources: ['pods'] }];
  const site = allNamespacesSite({
    objects: [
      clusterRole('pod-reader', rules),
      ...['a', 'b'].flatMap((place) => [
        namespace(place),
        roleBinding(place, 'readers', 'ClusterRole/pod-reader', [group(`project-${place}`)]),
      ]),
    ],
    identity: keystoneIdentity('alice', { assignmentsOf: 'id-of-alice' }),
    roles: {
      inScope: async (identity, { namespace: place }) => ({
        ...identity,
        groups: place === 'a' ? granted.a : place === 'b' ? granted.b : [],
      }),
      projectNamespaces: async () => ['a', 'b'],
    },
    changes: { streamer: watches.streamer },
  });
  const answered = await site.answerer.answer(site.outgoing(PODS));
  if (answered === undefined || 'body' in answered) throw new Error('no stream');
  const client = readWatch(answered);
  site.clock.advance(60_000);
  await tick();
  t.notOk(client.ended);
  granted.b = [];
  site.clock.advance(60_000);
  await eventually(() => watches.latest('b').destroyed);
  t.notOk(watches.latest('a').destroyed);
  site.clock.advance(5_000);
  await client.until(['ERROR 410']);
});

t.test('the API server is read no faster than the client reads', async (t) => {
  const site = watchSite({ objects: podReader(['a', 'b']) });
  const client = readWatch(await site.open());
  client.stream.pause();
  const line = `${JSON.stringify(event('ADDED', 'a', 'p', 6))}\n`;
  const piece = line.repeat(1_000);
  let pieces = 0;
  while (site.latest('a').write(piece)) pieces += 1;
  await tick();
  t.equal(client.text, '');
  t.notOk(site.latest('a').write(piece), 'the response waits, and so does its connection');
  await eventually(() => {
    site.clock.advance(1_000);
    return client.stream.held > 0;
  });
  client.stream.resume();
  const all = line.length * 1_000 * (pieces + 2);
  await eventually(() => client.text.length === all);
  t.equal(client.stream.held, 0);
  t.notOk(client.ended);
  site.send('b', event('ADDED', 'b', 'q', 7));
  await eventually(() => client.text.length > all);
  client.leave();
  t.ok(site.areClosed());
});

t.test('a client for which there is no memory is disconnected, and its watches are closed', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open(), { room: 1_000 });
  client.stream.pause();
  site.latest('a').write('x'.repeat(5_000));
  site.latest('a').write('x'.repeat(5_000));
  await eventually(() => {
    site.clock.advance(1_000);
    return client.ended;
  });
  t.ok(site.areClosed());
});

t.test('the watch ends at the next look if the index no longer counts', async (t) => {
  const watches = createWatches();
  const site = allNamespacesSite({
    objects: podReader(['a']),
    changes: { streamer: watches.streamer },
  });
  const open = async () => {
    const answered = await site.answerer.answer(site.outgoing(PODS));
    if (answered === undefined || 'body' in answered) throw new Error('no stream');
    return readWatch(answered);
  };
  const client = await open();
  site.becomeStale();
  site.clock.advance(60_000);
  await tick();
  site.clock.advance(5_000);
  await client.until(['ERROR 410']);
  t.ok(watches.areClosed());
});

t.test('after a reload the watch ends cleanly, and its connections are not used again', async (t) => {
  const site = watchSite();
  const client = readWatch(await site.open());
  site.clock.advance(60_000);
  site.replace();
  site.latest('b').end();
  await tick();
  t.equal(site.opened.length, 3, 'the watch of a namespace that ends is not opened again');
  site.clock.advance(5_000);
  site.clock.advance(1_000);
  t.ok(client.ended);
  t.same(client.events, [], 'the client resumes');
  t.ok(site.areClosed());
});

t.test('if the roles cannot be looked up again', async (t) => {
  const open = async (failure: Error) => {
    const watches = createWatches();
    const lookUp = { fails: false };
    const site = allNamespacesSite({
      objects: podReader(['a']),
      identity: keystoneIdentity('alice', { assignmentsOf: 'id-of-alice' }),
      roles: {
        async inScope(identity) {
          if (lookUp.fails) throw failure;
          return identity;
        },
        async projectNamespaces() {
          if (lookUp.fails) throw failure;
          return [];
        },
      },
      changes: { streamer: watches.streamer },
    });
    const answered = await site.answerer.answer(site.outgoing(PODS));
    if (answered === undefined || 'body' in answered) throw new Error('no stream');
    const client = readWatch(answered);
    lookUp.fails = true;
    site.clock.advance(60_000);
    for (let turn = 0; turn < 20; turn += 1) await tick();
    return { site, client };
  };

  const unavailable = await open(new StatusError('KeystoneUnavailable', 'Keystone cannot be asked'));
  unavailable.site.clock.advance(5_000);
  t.notOk(unavailable.client.ended, 'the user counts as unchanged while Keystone cannot be asked');
  unavailable.client.leave();

  const refused = await open(new StatusError('IdentityUnusable', 'no such user'));
  refused.site.clock.advance(5_000);
  await refused.client.until(['ERROR 410']);

  const error = new TypeError('a defect');
  const broken = await open(error);
  t.equal(broken.client.stream.error, error, 'the watch breaks off, its error reaches the log');
});

t.test(
  'a change that concerns many watches is decided for each in turn, and no event is too late',
  async (t) => {
    const turns: (() => void)[] = [];
    const site = watchSite({ turns });
    const bookmarks = `${PODS}&allowWatchBookmarks=true`;
    const first = readWatch(await site.open(bookmarks));
    const second = readWatch(await site.open(bookmarks));
    const third = readWatch(await site.open(bookmarks));
    const ofThird = site.opened.slice(-3);
    const ofSecond = site.opened.slice(3, 6);
    site.delete(site.binding('a'));
    const [partA, partB] = ofSecond;
    partA?.body.write(`${JSON.stringify(event('ADDED', 'a', 'p', 11))}\n`);
    for (const { body } of ofSecond) body.write(`${JSON.stringify(bookmark(20))}\n`);
    partB?.body.write(`${JSON.stringify(event('ADDED', 'b', 'q', 21))}\n`);
    await second.until(['ADDED b/q']);
    t.notOk(ofThird[0]?.body.destroyed, 'nothing is decided yet for a watch without events');
    while (turns.length > 0) turns.shift()?.();
    t.ok(ofThird[0]?.body.destroyed);
    site.clock.advance(5_000);
    for (const client of [first, second, third]) t.equal(client.events.at(-1), 'ERROR 410');
  },
);
