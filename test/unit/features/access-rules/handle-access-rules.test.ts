import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createSelfAccessRulesHandler } from '../../../../src/features/access-rules/handle-access-rules.ts';
import { createRulesDocuments } from '../../../../src/features/access-rules/rules-document.ts';
import type { AuthorizationMode } from '../../../../src/kubernetes/authorization-mode.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import { ResponseMemory } from '../../../../src/limits/response-memory.ts';
import { createAccessSubjects } from '../../../../src/proxy/access-subject.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { type AccessIndexSite, accessIndexOf, unsyncedAccessIndex } from '../../../support/access-index.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { alice, fakePipeline } from '../../../support/fake-pipeline.ts';
import { ownAPIHandler, ownAPIOf } from '../../../support/own-api.ts';
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

function siteOf(access: AccessIndexSite = accessIndexOf(...objects), authorizers = STATED) {
  const { clock } = access;
  const identity = { ...alice, expiresAt: clock.now() + 3_600_000 };
  const pipeline = fakePipeline({
    clock,
    ownAPI: ownAPIOf(),
    authenticators: [{ name: 'fake', authenticate: async () => identity }],
  });
  const real = createAccessSubjects(pipeline);
  const subjects = { fails: false };
  const documents = createRulesDocuments({
    access: access.access,
    namedSets: [],
    authorizers,
    clock,
  });
  const handler = createSelfAccessRulesHandler({
    responseMemory: new ResponseMemory(),
    documents,
    subjects: {
      subjectOf(asked) {
        return subjects.fails
          ? Promise.reject(new StatusError('KeystoneUnavailable', 'Keystone is down'))
          : real.subjectOf(asked);
      },
    },
  });
  const served = { ...pipeline, handlers: ownAPIHandler({ selfaccessrules: handler }) };
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
  };
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
    ownAPI: ownAPIOf(),
    mode: {
      ...other.pipeline.mode,
      userOf: () => ({ username: 'acme:alice', uid: 'u1', groups: ['system:authenticated'], extra: {} }),
    },
  });
  const { access, clock } = other;
  const documents = createRulesDocuments({ access, namedSets: [], authorizers: STATED, clock });
  const handler = createSelfAccessRulesHandler({
    responseMemory: new ResponseMemory(),
    documents,
    subjects: createAccessSubjects(unscoped),
  });
  const exchange = fakeExchange({ target: `${PATH}?verb=list`, headers: [BEARER] });
  await serveRequest(exchange, { ...unscoped, handlers: ownAPIHandler({ selfaccessrules: handler }) });
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

t.test(
  'the document is JSON, for kubectl too; a client that takes only another form is told so',
  async (t) => {
    const { get } = siteOf();
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const protobuf = 'application/vnd.kubernetes.protobuf';
    for (const accepted of [`${table},application/json`, `${protobuf}, */*`, 'application/*'])
      t.match((await get('', [['Accept', accepted]])).json(), { kind: 'SelfAccessRules' }, accepted);
    for (const accepted of [table, protobuf, 'application/yaml'])
      t.match((await get('', [['Accept', accepted]])).json(), { code: 406 }, accepted);
  },
);

t.test('a user with a role of very long verbs gets a document of a megabyte at most', async (t) => {
  const verbs = Array.from({ length: 50 }, (_, at) => `verb${at}`.padEnd(24_000, 'x'));
  const kinds = Array.from({ length: 4_900 }, (_, at) => `kind${at}`);
  const large = clusterRole('large', [
    { verbs, apiGroups: ['*'], resources: ['*'] },
    { verbs: ['get'], apiGroups: [''], resources: kinds },
  ]);
  const mine = roleBinding('b', 'large', 'ClusterRole/large', [user('acme:alice')]);
  const { get } = siteOf(accessIndexOf(...objects, large, mine));
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const { status, text, headers } = await get('', [['Accept', table]]);
  t.equal(status, 200);
  t.ok(text.length <= 1024 * 1024);
  t.match(JSON.parse(text), {
    status: { incomplete: true, namespaces: [{ names: ['a'] }, { names: ['b'] }] },
  });
  t.match(headerValue(headers, 'warning'), /may be incomplete: the rules are more than one document holds/);
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

t.test('there is no watch: a client asks again with the ETag', async (t) => {
  const { get } = siteOf();
  t.match((await get('?watch=1')).json(), { code: 400, message: /"watch" is unknown/ });
});
