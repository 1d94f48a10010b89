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
import { type AccessIndexSite, accessIndexOf } from '../../../support/access-index.ts';
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

t.test('if roles cannot be looked up there are no rules', async (t) => {
  const site = siteOf();
  site.subjects.fails = true;
  t.match((await site.get()).json(), { code: 503, message: 'Keystone is down' });
});

t.test('a parameter that is given twice or empty is refused', async (t) => {
  const { get } = siteOf();
  for (const query of ['verb=list&verb=get', 'verb=', 'resource=', 'namespace='])
    t.equal((await get(`?${query}`)).status, 400, query);
});

t.test('a misspelt parameter is refused, since without it the response would be wider', async (t) => {
  const { get } = siteOf();
  for (const query of ['verbs=list', 'verb=list&name=web', '%76erbs=list'])
    t.equal((await get(`?${query}`)).status, 400, query);
  t.equal((await get('?verb=list&limit=500&timeout=10s&resourceVersion=0')).status, 200);
});
