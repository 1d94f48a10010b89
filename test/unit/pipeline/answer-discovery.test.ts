import { readFileSync } from 'node:fs';
import t from 'tap';
import { createDocumentCache } from '../../../src/cache/document-cache.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createDiscoveryAnswerer } from '../../../src/pipeline/answer-discovery.ts';
import type { Answer } from '../../../src/pipeline/answerer.ts';
import { createArktosMode } from '../../../src/tenancy/arktos.ts';
import { keystoneIdentity } from '../../support/identities.ts';
import { fakeFetcher, outgoingOf } from '../../support/outgoing.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const list = {
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [{ name: 'pods' }, { name: 'nodes' }, { name: 'nodes/status' }],
};

/** An answerer before an API server that says what `answer` says, with a clock that stands still. */
function discovery(answer: Parameters<typeof fakeFetcher>[0] = () => ({ status: 200, body: list })) {
  const fetcher = fakeFetcher(answer);
  const clock = { now: () => 0, after: () => ({ cancel() {} }) };
  const cache = createDocumentCache<Answer>({
    ttl: 5_000,
    maxBytes: 1 << 20,
    sizeOf: ({ body }) => body.length,
    keep: ({ status }) => status === 200,
    clock,
    telemetry: noTelemetry,
  });
  const answerer = createDiscoveryAnswerer({ fetcher, cache, mode });
  const get = (target: string, { user = 'alice', home = 'acme', method = 'GET', accept = '*/*' } = {}) =>
    answerer.answer(
      outgoingOf(mode, keystoneIdentity(user, { home }), { method, target, headers: [['Accept', accept]] }),
    );
  return { ...fetcher, get };
}

const bodyOf = (answer: Answer | undefined) => JSON.parse(String(answer?.body));

t.test('a document is fetched as Stonegate itself: nobody is impersonated', async (t) => {
  const { asked, get } = discovery();
  await get('/apis/apps/v1?timeout=32s&tenant=globex', {
    accept: 'application/json;as=APIGroupDiscoveryList',
  });
  t.strictSame(asked, [
    {
      method: 'GET',
      target: '/apis/apps/v1?timeout=32s&tenant=acme',
      headers: [['Accept', 'application/json']],
    },
  ]);
});

t.test('what the tenant cannot have is not shown', async (t) => {
  t.strictSame(bodyOf(await discovery().get('/api/v1')), { ...list, resources: [{ name: 'pods' }] });
});

t.test(
  'a group of which the tenant can have nothing is not shown: kubectl takes an empty one for broken',
  async (t) => {
    const groups = [{ name: 'apps' }, { name: 'node.k8s.io' }];
    const { get } = discovery(() => ({ status: 200, body: { kind: 'APIGroupList', groups } }));
    t.strictSame(bodyOf(await get('/apis')), { kind: 'APIGroupList', groups: [{ name: 'apps' }] });
  },
);

t.test('a recorded document of a real server is reduced', async (t) => {
  const url = new URL('../../conformance/arktos/recorded/discovery-api-v1.json', import.meta.url);
  const body = JSON.parse(readFileSync(url, 'utf8')).response.body;
  const shown = bodyOf(await discovery(() => ({ status: 200, body })).get('/api/v1'));
  t.notOk(shown.resources.some(({ name }: { name: string }) => /^(nodes|tenants)(\/|$)/.test(name)));
  t.ok(shown.resources.some(({ name }: { name: string }) => name === 'pods/exec'));
});

t.test('type and status arrive, fields of the connection and of the unreduced document do not', async (t) => {
  const answer = await discovery().get('/api/v1');
  t.match(answer, { status: 200 });
  t.strictSame(answer?.headers, [['Content-Type', 'application/json']]);
});

t.test('a document that is not reduced arrives byte for byte, in the form the client chose', async (t) => {
  const { asked, get } = discovery(() => ({ status: 200, body: '\u0000protobuf', type: 'application/x' }));
  const answer = await get('/openapi/v2', { accept: 'application/x' });
  t.equal(String(answer?.body), '\u0000protobuf');
  t.match(asked, [{ target: '/openapi/v2', headers: [['Accept', 'application/x']] }]);
});

t.test('a tenant’s second question is answered from memory', async (t) => {
  const { asked, get } = discovery();
  await get('/api/v1');
  await get('/api/v1', { user: 'bob', method: 'HEAD' });
  t.equal(asked.length, 1);
});

t.test('simultaneous questions become one', async (t) => {
  const { asked, get } = discovery();
  await Promise.all([get('/api/v1'), get('/api/v1'), get('/api/v1')]);
  t.equal(asked.length, 1);
});

t.test('tenants, queries and forms share nothing', async (t) => {
  const { asked, get } = discovery(() => ({ status: 200, body: '' }));
  await get('/openapi/v2');
  await get('/openapi/v2', { home: 'globex' });
  await get('/openapi/v2?timeout=1s');
  await get('/openapi/v2', { accept: 'application/x' });
  t.equal(asked.length, 4);
});

t.test('health is asked anew each time', async (t) => {
  const { asked, get } = discovery(() => ({ status: 200, body: 'ok', type: 'text/plain' }));
  await get('/healthz');
  await get('/healthz');
  t.equal(asked.length, 2);
});

t.test('C073 a refusal of the API server is passed on as it is, and not remembered', async (t) => {
  const body = { kind: 'Status', message: 'not here' };
  const { asked, get } = discovery(() => ({ status: 404, body }));
  t.match(await get('/apis/nosuch.io/v1'), { status: 404, body: Buffer.from(JSON.stringify(body)) });
  await get('/apis/nosuch.io/v1');
  t.equal(asked.length, 2);
});

t.test('an API server that is down is a 503', async (t) => {
  const { get } = discovery(() => new StatusError('UpstreamUnavailable', 'down'));
  await t.rejects(get('/api/v1'), { code: 'UpstreamUnavailable' });
});

for (const [what, given] of [
  ['no JSON', { status: 200, body: '{"half' }],
  ['another type', { status: 200, body: list, type: 'application/vnd.kubernetes.protobuf' }],
  ['another kind', { status: 200, body: { kind: 'APIGroupList', groups: [] } }],
  ['a list of nameless things', { status: 200, body: { ...list, resources: [{}] } }],
  ['null', { status: 200, body: null }],
] as const) {
  t.test(`a list that cannot be reduced (${what}) is not shown at all: 503`, async (t) => {
    await t.rejects(discovery(() => given).get('/api/v1'), { code: 'UpstreamUnavailable', http: 503 });
  });
}

t.test('a list of groups that cannot be reduced is not shown at all: 503', async (t) => {
  await t.rejects(discovery().get('/apis'), { code: 'UpstreamUnavailable', http: 503 });
});

t.test('other requests are left to others', async (t) => {
  t.equal(await discovery().get('/api/v1/pods'), undefined);
});
