import t from 'tap';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import { createRulesDocuments } from '../../../../src/access/rules/rules-document.ts';
import type { AuthorizationMode } from '../../../../src/api/authorization-mode.ts';
import type { StoredObject } from '../../../../src/api/rbac-v1.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { ResponseMemory } from '../../../../src/flowcontrol/response-memory.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { createSelfAccessRulesAnswerer } from '../../../../src/pipeline/own-api/answer-access-rules.ts';
import { createAccessSubjects } from '../../../../src/pipeline/rbac/access-subject.ts';
import { WatchLifetimes } from '../../../../src/pipeline/response/watch-lifetimes.ts';
import { serveRequest } from '../../../../src/pipeline/serve-request.ts';
import { createOwnAPI } from '../../../../src/tenancy/own-api.ts';
import { type AccessIndexSite, accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { eventually } from '../../../support/eventually.ts';
import { type FakeExchange, fakeExchange } from '../../../support/fake-exchange.ts';
import { alice, fakePipeline } from '../../../support/fake-pipeline.ts';
import { clusterRole, group, namespace, roleBinding, user } from '../../../support/rbac-objects.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';
const BEARER = ['Authorization', 'Bearer secret-token'] as const;
const STATED: readonly AuthorizationMode[] = ['Node', 'RBAC'];

const view = clusterRole('view', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }]);
const edit = clusterRole('edit', [{ verbs: ['delete'], apiGroups: [''], resources: ['pods'] }]);
const objects: readonly StoredObject[] = [
  namespace('a'),
  namespace('b'),
  view,
  edit,
  roleBinding('a', 'view', 'ClusterRole/view', [group('keystone:project:p1')]),
  roleBinding('b', 'edit', 'ClusterRole/edit', [user('acme:alice')]),
];

const lifetimesOf = (clock: Clock) =>
  new WatchLifetimes({ clock, random: systemRandom, replaced: new AbortController().signal });

function siteOf(access: AccessIndexSite = accessIndexOf(...objects), authorizers = STATED) {
  const { index, clock } = access;
  const identity = { ...alice, expiresAt: clock.now() + 3_600_000 };
  const pipeline = fakePipeline({
    clock,
    ownAPI: createOwnAPI({ index: true }),
    authenticators: [{ name: 'fake', authenticate: async () => identity }],
  });
  const cache = new RulesCache({ index, clock, namedSets: [] });
  const real = createAccessSubjects(pipeline);
  const subjects = { fails: false, isBroken: false };
  const documents = createRulesDocuments({
    access: access.access,
    cache,
    authorizers,
    clock,
    verifier: { sampleOne() {} },
  });
  const answerer = createSelfAccessRulesAnswerer({
    responseMemory: new ResponseMemory(),
    lifetimes: lifetimesOf(clock),
    documents,
    clock,
    subjects: {
      subjectOf(asked) {
        if (subjects.isBroken) throw new TypeError('unexpected');
        return subjects.fails
          ? Promise.reject(new StatusError('KeystoneUnavailable', 'Keystone is down'))
          : real.subjectOf(asked);
      },
    },
  });
  const served = { ...pipeline, answerers: [answerer] };
  return {
    ...access,
    identity,
    pipeline,
    subjects,
    async get(query = '?verb=list', headers: HeaderList = []) {
      const exchange = fakeExchange({ target: `${PATH}${query}`, headers: [BEARER, ...headers] });
      await serveRequest(exchange, served);
      return exchange.response;
    },
    watch(query = '?verb=list&watch=1'): FakeExchange & { readonly done: Promise<void> } {
      const exchange = fakeExchange({ target: `${PATH}${query}`, headers: [BEARER] });
      return { ...exchange, done: serveRequest(exchange, served) };
    },
  };
}

function eventsOf({ response }: FakeExchange) {
  return response.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const PODS = { apiGroups: [''], resources: ['pods'] };

t.test('a user is told everything that they may list, and nothing is sent to the API server', async (t) => {
  const { get, pipeline, index, clock } = siteOf();
  const response = await get();
  t.equal(response.status, 200);
  t.strictSame(response.json(), {
    kind: 'SelfAccessRules',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null, resourceVersion: String(index.revision) },
    status: {
      verb: 'list',
      revision: String(index.revision),
      incomplete: false,
      validUntil: new Date(clock.now() + 600_000).toISOString().replace(/\.\d+Z/, 'Z'),
      everywhere: [],
      cluster: [],
      namespaces: [{ names: ['a'], rules: [PODS] }],
      otherNamespaces: [],
      sets: {},
    },
  });
  t.same(pipeline.sent, []);
});

t.test('without a verb each rule has its verbs; a kind and a namespace narrow the rules', async (t) => {
  const { get } = siteOf();
  t.match((await get('')).json(), {
    status: {
      verb: '*',
      namespaces: [
        { names: ['a'], rules: [{ verbs: ['get', 'list'], ...PODS }] },
        { names: ['b'], rules: [{ verbs: ['delete'], ...PODS }] },
      ],
    },
  });
  t.match((await get('?namespace=b')).json(), { status: { namespaces: [{ names: ['b'] }] } });
  t.match((await get('?verb=list&apiGroup=&resource=pods')).json(), {
    status: { namespaces: [{ names: ['a'] }] },
  });
  for (const query of ['verb=list&resource=secrets', 'verb=list&apiGroup=apps', 'verb=list&namespace=b']) {
    const { status } = JSON.parse((await get(`?${query}`)).text);
    t.same(status.namespaces, [], query);
  }
});

t.test('D140: a credential with a scope is answered with the roles of that credential', async (t) => {
  const site = siteOf();
  const other = siteOf(accessIndexOf(...objects));
  t.match((await site.get()).json(), { status: { namespaces: [{ names: ['a'] }] } });
  const unscoped = fakePipeline({
    ownAPI: createOwnAPI({ index: true }),
    mode: {
      ...other.pipeline.mode,
      userOf: () => ({ username: 'acme:alice', uid: 'u1', groups: ['system:authenticated'], extra: {} }),
    },
  });
  const { access, index, clock } = other;
  const cache = new RulesCache({ index, clock, namedSets: [] });
  const documents = createRulesDocuments({
    access,
    cache,
    authorizers: STATED,
    clock,
    verifier: { sampleOne() {} },
  });
  const answerer = createSelfAccessRulesAnswerer({
    responseMemory: new ResponseMemory(),
    lifetimes: lifetimesOf(clock),
    documents,
    clock,
    subjects: createAccessSubjects(unscoped),
  });
  const exchange = fakeExchange({ target: `${PATH}?verb=list`, headers: [BEARER] });
  await serveRequest(exchange, { ...unscoped, answerers: [answerer] });
  const { status } = JSON.parse(exchange.response.text);
  t.same(status.namespaces, [], 'the group of the project is on the scoped credential only');
});

t.test('the document counts at most ten minutes, and never longer than the credential', async (t) => {
  const site = siteOf();
  site.clock.advance(3_600_000 - 5_000);
  for (const object of objects) site.put(object);
  const { status } = JSON.parse((await site.get()).text);
  t.equal(status.validUntil, new Date(site.identity.expiresAt).toISOString().replace(/\.\d+Z/, 'Z'));
});

t.test('a document that the client has is not sent again, but its time is', async (t) => {
  const { get, put, clock } = siteOf();
  const first = await get();
  const tag = headerValue(first.headers, 'etag') ?? '';
  t.match(tag, /^"[\w.-]+"$/);
  clock.advance(60_000);
  put(roleBinding('a', 'of-bob', 'ClusterRole/view', [user('bob')]));
  const second = await get('?verb=list', [['If-None-Match', `"x", W/${tag}`]]);
  t.equal(second.status, 304);
  t.equal(second.text, '');
  t.equal(headerValue(second.headers, 'etag'), tag);
  t.not(headerValue(second.headers, 'expires'), headerValue(first.headers, 'expires'));
  put(roleBinding('c', 'of-alice', 'ClusterRole/view', [user('acme:alice')]));
  const third = await get('?verb=list', [['If-None-Match', tag]]);
  t.equal(third.status, 200);
  t.not(headerValue(third.headers, 'etag'), tag);
});

t.test(
  'a stale index, and authorizers that the operator has not stated, make the document incomplete',
  async (t) => {
    const stale = siteOf();
    const tag = headerValue((await stale.get()).headers, 'etag') ?? '';
    stale.becomeStale();
    const response = await stale.get('?verb=list', [['If-None-Match', tag]]);
    t.match(response.json(), { status: { incomplete: true, incompleteReason: /no news/ } });
    for (const [authorizers, reason] of [
      [[], /not stated/],
      [['Node', 'RBAC', 'Webhook'], /Node, RBAC, Webhook/],
      [['Node'], /Node/],
    ] as const)
      t.match((await siteOf(accessIndexOf(...objects), authorizers).get()).json(), {
        status: { incomplete: true, incompleteReason: reason, namespaces: [{ names: ['a'] }] },
      });
  },
);

const TABLE = ['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'] as const;

t.test('kubectl is given a table: kinds and verbs, or the rules for one verb', async (t) => {
  const { get } = siteOf();
  const matrix = await get('', [TABLE]);
  const { kind, columnDefinitions, rows } = JSON.parse(matrix.text);
  t.equal(kind, 'Table');
  t.same(
    [columnDefinitions, ...rows].map((row) =>
      (row.cells ?? row.map(({ name }: { name: string }) => name)).join('|'),
    ),
    [
      'Namespaces|Kind|Get|List|Watch|Create|Update|Patch|Delete|Other|Names',
      'a|pods|✔|✔|||||||',
      'b|pods|||||||✔||',
    ],
  );
  t.not(headerValue(matrix.headers, 'etag'), headerValue((await get('')).headers, 'etag'));
  const forVerb = JSON.parse((await get('?verb=list', [TABLE])).text);
  t.strictSame(forVerb.rows[0].cells, ['a', 'core', 'pods', '']);
  t.equal((await get('', [['Accept', 'application/vnd.kubernetes.protobuf']])).status, 406);
  t.match((await get('', [['Accept', 'application/vnd.kubernetes.protobuf, */*']])).json(), {
    kind: 'SelfAccessRules',
  });
});

t.test('before the index is complete there are no rules', async (t) => {
  const { get } = siteOf(unsyncedAccessIndex());
  t.match((await get()).json(), { code: 503, reason: 'ServiceUnavailable', message: /not known yet/ });
});

t.test('if roles cannot be looked up there are no rules', async (t) => {
  const site = siteOf();
  site.subjects.fails = true;
  t.match((await site.get()).json(), { code: 503, message: 'Keystone is down' });
});

t.test('a parameter that is given twice, empty or too long is refused', async (t) => {
  const { get } = siteOf();
  for (const query of ['verb=list&verb=get', 'verb=', 'resource=', 'namespace=', `verb=${'x'.repeat(300)}`])
    t.equal((await get(`?${query}`)).status, 400, query);
});

t.test('a misspelt parameter is refused, since without it the response would be wider', async (t) => {
  const { get } = siteOf();
  for (const query of ['verbs=list', 'verb=list&name=web', '%76erbs=list'])
    t.equal((await get(`?${query}`)).status, 400, query);
  t.equal((await get('?verb=list&limit=500&timeout=10s&resourceVersion=0')).status, 200);
});

t.test('a watch begins with the document, and tells each change, at most one per second', async (t) => {
  const { watch, put, clock } = siteOf();
  const watching = watch();
  await eventually(() => eventsOf(watching).length === 1);
  t.match(eventsOf(watching), [
    { type: 'ADDED', object: { kind: 'SelfAccessRules', status: { namespaces: [{ names: ['a'] }] } } },
  ]);
  for (const name of ['c', 'd', 'e']) put(roleBinding(name, 'x', 'ClusterRole/view', [user('acme:alice')]));
  put(roleBinding('f', 'x', 'ClusterRole/view', [user('acme:bob')]));
  t.equal(eventsOf(watching).length, 1);
  clock.advance(1_000);
  await eventually(() => eventsOf(watching).length === 2);
  t.match(eventsOf(watching)[1], {
    type: 'MODIFIED',
    object: { status: { namespaces: [{ names: ['a', 'c', 'd', 'e'] }] } },
  });
  watching.leave();
  t.ok(watching.signal.aborted);
});

t.test('with bookmarks a watch tells that the document still counts; without, it is silent', async (t) => {
  const { watch, clock, put } = siteOf();
  const told = watch('?verb=list&watch=1&allowWatchBookmarks=true');
  const silent = watch();
  await eventually(() => eventsOf(told).length === 1 && eventsOf(silent).length === 1);
  put(namespace('z'));
  clock.advance(60_000);
  await eventually(() => eventsOf(told).length === 2);
  const [first, bookmark] = eventsOf(told);
  t.equal(bookmark.type, 'BOOKMARK');
  t.ok(bookmark.object.status.validUntil > first.object.status.validUntil);
  t.equal(eventsOf(silent).length, 1);
});

t.test('a watch ends when the client asked, within an hour, and with the index', async (t) => {
  const { watch, clock, access } = siteOf();
  const short = watch('?watch=1&timeoutSeconds=5');
  const long = watch('?watch=1');
  await eventually(() => eventsOf(short).length === 1 && eventsOf(long).length === 1);
  clock.advance(5_000);
  await short.done;
  t.ok(short.response.closed);
  t.notOk(long.response.closed);
  clock.advance(60 * 60_000);
  await long.done;
  const last = watch('?watch=1');
  await eventually(() => eventsOf(last).length === 1);
  access.stop();
  await last.done;
  t.notOk(last.response.destroyed, 'cleanly, so that the client watches again');
  const late = watch('?watch=1');
  await late.done;
  t.same(eventsOf(late), []);
});

t.test(
  'while roles cannot be looked up a watch tells nothing, and tells the change afterwards',
  async (t) => {
    const { watch, clock, put, subjects } = siteOf();
    const watching = watch();
    await eventually(() => eventsOf(watching).length === 1);
    subjects.fails = true;
    put(roleBinding('c', 'x', 'ClusterRole/view', [user('acme:alice')]));
    clock.advance(1_000);
    await eventually(() => clock.untilNext === 60_000);
    t.equal(eventsOf(watching).length, 1);
    subjects.fails = false;
    clock.advance(60_000);
    await eventually(() => eventsOf(watching).length === 2);
    t.match(eventsOf(watching)[1], { type: 'MODIFIED' });
  },
);

t.test('an unexpected error breaks the watch off, and is logged', async (t) => {
  const { watch, clock, put, subjects, pipeline } = siteOf();
  const watching = watch();
  await eventually(() => eventsOf(watching).length === 1);
  subjects.isBroken = true;
  put(roleBinding('c', 'x', 'ClusterRole/view', [user('acme:alice')]));
  clock.advance(1_000);
  await watching.done;
  t.ok(watching.response.destroyed);
  t.match(pipeline.events.at(-1), {
    stage: 'complete',
    record: { outcome: { code: 'InternalError', error: { message: 'unexpected' } } },
  });
});
