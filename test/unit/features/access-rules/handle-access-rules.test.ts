import t from 'tap';
import { parse } from 'yaml';
import { createSelfAccessRulesHandler } from '../../../../src/features/access-rules/handle-access-rules.ts';
import { createRulesDocuments } from '../../../../src/features/access-rules/rules-document.ts';
import type { AuthorizationMode } from '../../../../src/kubernetes/authorization-mode.ts';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { createAccessSubjects } from '../../../../src/proxy/access-subject.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { alice, fakePipeline } from '../../../support/fake-pipeline.ts';
import { ownAPIHandler, ownAPIOf } from '../../../support/own-api.ts';
import { rbacObjects } from '../../../support/rbac-objects.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';
const BEARER = ['Authorization', 'Bearer secret-token'] as const;
const STATED: readonly AuthorizationMode[] = ['Node', 'RBAC'];

const objects = rbacObjects(`
  Namespace a
  Namespace b
  ClusterRole view: get,list pods
  ClusterRole edit: delete pods
  RoleBinding a/view: ClusterRole/view to Group keystone:project:p1
  RoleBinding b/edit: ClusterRole/edit to User acme:alice`);

function siteOf() {
  const access = accessIndexOf(...objects);
  const { clock } = access;
  const identity = { ...alice, expiresAt: clock.now() + 3_600_000 };
  const pipeline = fakePipeline({
    clock,
    ownAPI: ownAPIOf(),
    authenticators: [{ name: 'fake', authenticate: async () => identity }],
  });
  const documents = createRulesDocuments({
    access: access.access,
    namedSets: [],
    authorizers: STATED,
    clock,
  });
  const handler = createSelfAccessRulesHandler({ documents, subjects: createAccessSubjects(pipeline) });
  const served = { ...pipeline, handlers: ownAPIHandler({ selfaccessrules: handler }) };
  return {
    ...access,
    identity,
    pipeline,
    async get(query = '?verb=list', headers: HeaderList = []) {
      const exchange = fakeExchange({ target: `${PATH}${query}`, headers: [BEARER, ...headers] });
      await serveRequest(exchange, served);
      return exchange.response;
    },
  };
}

t.test(
  'the response names everything that the user may list, and nothing is sent to the API server',
  async (t) => {
    const { get, pipeline, index, clock } = siteOf();
    const response = await get();
    t.equal(response.status, 200);
    t.strictSame(
      response.json(),
      parse(`
      kind: SelfAccessRules
      apiVersion: stonegate.dev/v1alpha1
      metadata: {creationTimestamp: null, resourceVersion: '${index.revision}'}
      status:
        verb: list
        revision: '${index.revision}'
        incomplete: false
        validUntil: '${new Date(clock.now() + 600_000).toISOString().replace(/\.\d+Z/, 'Z')}'
        everywhere: []
        cluster: []
        namespaces: [{names: [a], rules: [{apiGroups: [''], resources: [pods]}]}]
        otherNamespaces: []
        sets: {}`),
    );
    t.same(pipeline.sent, []);
  },
);

t.test(
  'the document is JSON, also for kubectl; a client that accepts only another format gets 406',
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

t.test('a parameter that is given twice or empty is refused', async (t) => {
  const { get } = siteOf();
  for (const query of ['verb=list&verb=get', 'verb=', 'resource=', 'namespace='])
    t.equal((await get(`?${query}`)).status, 400, query);
});

t.test('a misspelt parameter is refused, since ignoring it would widen the response', async (t) => {
  const { get } = siteOf();
  for (const query of ['verbs=list', 'verb=list&name=web', '%76erbs=list'])
    t.equal((await get(`?${query}`)).status, 400, query);
  t.equal((await get('?verb=list&limit=500&timeout=10s&resourceVersion=0')).status, 200);
});
