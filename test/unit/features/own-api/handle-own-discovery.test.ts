import t from 'tap';
import { parse } from 'yaml';
import { createOwnDiscoveryHandlers } from '../../../../src/features/own-api/handle-own-discovery.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../../../src/lib/header-list.ts';
import { serveRequest } from '../../../../src/proxy/serve-request.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { fakePipeline } from '../../../support/fake-pipeline.ts';
import { ownAPIOf } from '../../../support/own-api.ts';

const BEARER = ['Authorization', 'Bearer secret-token'] as const;
const AGGREGATED =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
const V1 = '/apis/stonegate.dev/v1alpha1';
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

type Sent = Parameters<UpstreamFetcher['fetch']>[0];

/** @param answer the response of the API server */
async function ask(
  target: string,
  headers: HeaderList,
  answer: { readonly status?: number; readonly headers?: HeaderList; readonly body?: unknown } = {},
  { method = 'GET', index = true } = {},
) {
  const asked: Sent[] = [];
  const ownAPI = ownAPIOf(index);
  const fetcher: UpstreamFetcher = {
    async fetch(request): Promise<UpstreamResponse> {
      asked.push(request);
      const { status = 200, body = '', headers: fields = [JSON_TYPE] } = answer;
      return {
        status,
        headers: fields,
        body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      };
    },
  };
  const pipeline = fakePipeline({ ownAPI, handlers: createOwnDiscoveryHandlers({ ownAPI, fetcher }) });
  const exchange = fakeExchange({ method, target, headers: [BEARER, ...headers] });
  await serveRequest(exchange, pipeline);
  const { response } = exchange;
  const header = (name: string) =>
    response.headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return { asked, response, header, forwarded: pipeline.sent.length };
}

const GROUPS = { kind: 'APIGroupList', apiVersion: 'v1', groups: [{ name: 'apps', versions: [] }] };

t.test('aggregated discovery v2beta1 has the group once, with its resources', async (t) => {
  const type = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
  const body = parse(`
    kind: APIGroupDiscoveryList
    apiVersion: apidiscovery.k8s.io/v2beta1
    metadata: {}
    items:
    - {metadata: {name: apps}, versions: []}
    - {metadata: {name: stonegate.dev}, versions: [{version: v9}]}`);

  const { response, asked, header } = await ask(
    '/apis',
    [
      ['Accept', AGGREGATED],
      ['Accept-Encoding', 'gzip'],
    ],
    {
      body,
      headers: [
        ['Content-Type', type],
        ['ETag', '"ABC"'],
        ['Vary', 'Accept'],
      ],
    },
  );
  t.equal(header('content-type'), type);
  t.match(header('etag'), /^"[0-9a-f]{32}"$/, 'the ETag of the list with the group');
  t.equal(header('vary'), 'Accept');
  const { items } = JSON.parse(response.text);
  t.equal(items.length, 2);
  t.match(
    items[1],
    parse('{metadata: {name: stonegate.dev}, versions: [{version: v1alpha1, freshness: Current}]}'),
  );
  const isLocal = ({ resource }: { resource: string }) => resource === 'localresourceaccessreviews';
  t.strictSame(
    items[1].versions[0].resources.find(isLocal),
    parse(`
    resource: localresourceaccessreviews
    responseKind: {group: stonegate.dev, version: v1alpha1, kind: LocalResourceAccessReview}
    scope: Namespaced
    singularResource: localresourceaccessreview
    verbs: [create]`),
  );
  t.ok(
    asked[0]?.headers.some(([name, value]) => name === 'Accept' && value.includes('APIGroupDiscoveryList')),
  );
  t.notOk(asked[0]?.headers.some(([name]) => /^(accept-encoding|if-none-match)$/i.test(name)));
});

t.test(
  'the group’s own documents name what is configured, and are never requested from the API server',
  async (t) => {
    const group = await ask('/apis/stonegate.dev', []);
    t.match(group.response.json(), { kind: 'APIGroup', name: 'stonegate.dev' });
    const { response, header, asked, forwarded } = await ask(V1, []);
    t.match(response.json(), { kind: 'APIResourceList', groupVersion: 'stonegate.dev/v1alpha1' });
    const names = (text: string) => JSON.parse(text).resources.map(({ name }: { name: string }) => name);
    t.ok(names(response.text).includes('resourceaccessreviews'));
    t.same([asked.length, forwarded], [0, 0]);
    const plain = await ask(V1, [], {}, { index: false });
    t.same(names(plain.response.text), ['selfidentity', 'explanations']);
    const again = await ask(V1, [['If-None-Match', header('etag') ?? '']]);
    t.equal(again.response.status, 304);
    t.equal((await ask(V1, [], {}, { method: 'POST' })).response.status, 405);
  },
);

t.test('a refusal or an unreadable response of the API server is passed on unchanged', async (t) => {
  const refusal = { kind: 'Status', code: 403 };
  const refused = await ask('/apis', [], {
    status: 403,
    body: refusal,
    headers: [JSON_TYPE, ['Content-Length', '99']],
  });
  t.match(refused.response.json(), refusal);
  t.equal(refused.response.headers.filter(([name]) => name === 'Content-Length').length, 1);
  for (const body of ['', 'no JSON', '[]', '{"kind":"APIGroupList"}', '{"kind":"List","items":[]}'])
    t.equal((await ask('/apis', [], { body })).response.text, body);
  const packed = await ask('/apis', [], { body: GROUPS, headers: [JSON_TYPE, ['Content-Encoding', 'br']] });
  t.same(packed.response.json(), GROUPS);
});

t.test('a client that accepts no JSON gets the API server’s document', async (t) => {
  const { asked, forwarded } = await ask('/apis', [['Accept', 'application/vnd.kubernetes.protobuf']]);
  t.same([asked.length, forwarded], [0, 1]);
});

t.test('every other request is forwarded as before', async (t) => {
  for (const target of ['/api', '/apis/apps/v1', '/openapi/v2', '/openapi/v3/api/v1'])
    t.equal((await ask(target, [])).forwarded, 1, target);
  t.equal((await ask('/apis', [], {}, { method: 'POST' })).forwarded, 1);
});

t.test(
  'the group is listed before that of the stored objects, since kubectl takes the first match',
  async (t) => {
    const names = ['apps', 'tenancy.stonegate.dev', 'wardle.example.com'];
    const own = ['apps', 'stonegate.dev', 'tenancy.stonegate.dev', 'wardle.example.com'];
    const groups = names.map((name) => ({ name, versions: [] }));
    const list = await ask('/apis', [], { body: { ...GROUPS, groups } });
    const nameOf = ({ name }: { readonly name: string }) => name;
    t.same(JSON.parse(list.response.text).groups.map(nameOf), own);
    const items = names.map((name) => ({ metadata: { name }, versions: [] }));
    const body = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
    const aggregated = await ask('/apis', [['Accept', AGGREGATED]], { body });
    const found: { metadata: { name: string } }[] = JSON.parse(aggregated.response.text).items;
    t.same(
      found.map(({ metadata }) => metadata.name),
      own,
    );
  },
);
