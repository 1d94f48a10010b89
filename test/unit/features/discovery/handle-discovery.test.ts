import t from 'tap';
import { parse } from 'yaml';
import { createDiscoveryHandler } from '../../../../src/features/discovery/handle-discovery.ts';
import type { UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { discoveryDocuments } from '../../../support/discovery.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { fakeFetcher, outgoingOf } from '../../../support/outgoing.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const list = parse(
  '{kind: APIResourceList, groupVersion: v1, resources: [{name: pods}, {name: nodes}, {name: nodes/status}]}',
);

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

/** A handler in front of an API server that responds with `answer`, with a clock that stands still. */
function discovery(answer: Parameters<typeof fakeFetcher>[0] = () => ({ status: 200, body: list })) {
  const fetcher = fakeFetcher(answer);
  const clock = { now: () => 0, monotonic: () => 0, after: () => ({ cancel() {} }) };
  const handler = createDiscoveryHandler(discoveryDocuments(fetcher, mode, clock).documents);
  const get = async (
    target: string,
    { user = 'alice', home = 'acme', method = 'GET', accept = '*/*' } = {},
  ) =>
    handler(
      outgoingOf(mode, keystoneIdentity(user, { home }), { method, target, headers: [['Accept', accept]] }),
    );
  return { ...fetcher, get };
}

const bodyOf = (answer: UpstreamResponse | undefined) => JSON.parse(String(answer?.body));

t.test('a document is fetched as Stonegate itself: without an impersonated user', async (t) => {
  const { asked, get } = discovery();
  await get('/apis/apps/v1?timeout=32s&tenant=globex', {
    accept: 'application/json;as=APIGroupDiscoveryList',
  });
  t.strictSame(
    asked.slice(0, 1),
    parse(`
    - account: {kind: tenant, tenant: acme}
      sender: {kind: stonegate}
      method: GET
      target: /apis/apps/v1?tenant=acme
      headers: [[Accept, application/json]]`),
  );
});

t.test('resources that the tenant cannot have are not shown', async (t) => {
  t.strictSame(bodyOf(await discovery().get('/api/v1')), { ...list, resources: [{ name: 'pods' }] });
});

t.test(
  'a group without resources for the tenant is not shown: kubectl takes an empty one for broken',
  async (t) => {
    const groups = ['apps', 'node.k8s.io'].map((name) => ({ name, versions: [] }));
    const { get } = discovery(() => ({ status: 200, body: { kind: 'APIGroupList', groups } }));
    t.match(bodyOf(await get('/apis')).groups, [{ name: 'apps' }, { name: 'stonegate.dev' }]);
    t.equal(bodyOf(await get('/apis')).groups.length, 2);
  },
);

t.test('Stonegate’s own group is listed once, whatever the tenant defines in it', async (t) => {
  const groups = [{ name: 'stonegate.dev', versions: [{ version: 'v9' }] }];
  const { get } = discovery(() => ({ status: 200, body: { kind: 'APIGroupList', groups } }));
  const versions = [{ groupVersion: 'stonegate.dev/v1alpha1', version: 'v1alpha1' }];
  t.match(bodyOf(await get('/apis')).groups, [{ name: 'stonegate.dev', versions }]);
  t.equal(bodyOf(await get('/apis')).groups.length, 1);
});

t.test(
  'a document that is not reduced is delivered byte for byte, in the form that the client chose',
  async (t) => {
    const { asked, get } = discovery(() => ({ status: 200, body: '\u0000protobuf', type: PROTOBUF }));
    const answer = await get('/openapi/v2', { accept: PROTOBUF });
    t.equal(String(answer?.body), '\u0000protobuf');
    t.match(asked, [{ target: '/openapi/v2', headers: [['Accept', PROTOBUF]] }]);
  },
);

t.test('tenants and forms share no cached document, and a query does not make another one', async (t) => {
  const { asked, get } = discovery(() => ({ status: 200, body: '' }));
  await get('/openapi/v2');
  await get('/openapi/v2?timeout=1s&k=1');
  await get('/openapi/v2', { home: 'globex' });
  await get('/openapi/v2', { accept: PROTOBUF });
  t.equal(asked.length, 3);
});

t.test('health is requested anew each time', async (t) => {
  const { asked, get } = discovery(() => ({ status: 200, body: 'ok', type: 'text/plain' }));
  await get('/healthz');
  await get('/healthz?verbose');
  t.match(asked, [{ target: '/healthz', headers: [['Accept', '*/*']] }, { target: '/healthz' }]);
  t.equal(asked.length, 2);
});

t.test('C073 a refusal of the API server is relayed unchanged, and not cached', async (t) => {
  const body = { kind: 'Status', message: 'not here' };
  const { asked, get } = discovery(() => ({ status: 404, body }));
  t.match(await get('/apis/nosuch.io/v1'), { status: 404, body: Buffer.from(JSON.stringify(body)) });
  await get('/apis/nosuch.io/v1');
  t.equal(asked.filter(({ target }) => target === '/apis/nosuch.io/v1?tenant=acme').length, 2);
});

for (const [what, given] of [
  ['not JSON', { status: 200, body: '{"half' }],
  ['another type', { status: 200, body: list, type: 'application/vnd.kubernetes.protobuf' }],
] as const) {
  t.test(`a list that cannot be reduced (${what}) is not shown at all: 503`, async (t) => {
    await t.rejects(discovery(() => given).get('/api/v1'), { code: 'UpstreamUnavailable', http: 503 });
  });
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The system tenant has `ops.io` for itself, and shares `requests.shared.io` with every tenant. */
function withSystem(changes: Readonly<Record<string, { status: number; body: unknown }>> = {}) {
  const groups = parse(`
    - {name: apps, versions: [{version: v1}]}
    - {name: ops.io, versions: [{version: v1}], preferredVersion: {version: v1}}
    - {name: shared.io, versions: [{version: v1}, {version: v2}, {version: v1}]}`);
  const resources = parse('[{name: requests}, {name: requests/status}, {name: hiddens}]');
  const items = parse(`
    - metadata: {name: requests.shared.io, labels: {arktos.futurewei.com/crd-sharing-policy: Forced}}
    - metadata: {name: hiddens.shared.io}
    - metadata: {name: secrets.ops.io}`);
  const answers: typeof changes = {
    [DEFINITIONS]: { status: 200, body: { items } },
    '/apis?tenant=acme': { status: 200, body: { kind: 'APIGroupList', groups } },
    '/apis/ops.io?tenant=acme': { status: 200, body: groups[1] },
    '/apis/shared.io/v1': { status: 200, body: { groupVersion: 'shared.io/v1', resources } },
    ...changes,
  };
  return discovery(({ target }) => answers[target] ?? { status: 404, body: '404 page not found\n' });
}

const namesOf = (answer: UpstreamResponse | undefined) =>
  bodyOf(answer).groups.map(({ name }: { name: string }) => name);

t.test('groups and versions that the system tenant has for itself are not shown', async (t) => {
  const { get } = withSystem();
  t.same(namesOf(await get('/apis')), ['apps', 'shared.io', 'stonegate.dev']);
  t.same(bodyOf(await get('/apis')).groups[1].versions, [{ version: 'v1' }]);
  t.match(await get('/apis/ops.io'), { status: 404 });
});

t.test('resources that the system tenant shares are shown, and nothing else of it', async (t) => {
  const { resources } = bodyOf(await withSystem().get('/apis/shared.io/v1'));
  t.same(resources, [{ name: 'requests' }, { name: 'requests/status' }]);
});

t.test(
  'versions that a client makes up are charged to its tenant, and end no other’s discovery',
  async (t) => {
    const { asked, get } = withSystem({ '/apis/shared.io/v3': { status: 429, body: {} } });
    for (const version of ['v2', 'v3', 'v3']) await get(`/apis/shared.io/${version}?timeout=32s`);
    const ofSystem = asked.filter(({ target }) => /^\/apis\/shared\.io\/v\d$/.test(target));
    t.match(ofSystem, Array(3).fill({ account: { kind: 'tenant', tenant: 'acme' } }));
    t.equal(bodyOf(await get('/apis/shared.io/v1')).resources.length, 2);
  },
);

t.test(
  'if the definitions cannot be read, the tenant gets discovery as the API server serves it',
  async (t) => {
    for (const status of [403, 500]) {
      const { asked, get } = withSystem({ [DEFINITIONS]: { status, body: {} } });
      t.equal(bodyOf(await get('/apis')).groups.length, 4);
      t.match(await get('/apis/shared.io/v1'), { status: 404 });
      const lists = asked.filter(({ target }) => target === DEFINITIONS);
      t.match(lists, [{ account: { kind: 'stonegate' }, sender: { kind: 'stonegate' } }]);
      t.equal(lists.length, 1, 'they are not requested again at once');
    }
  },
);

t.test('a version that cannot be read because of a fault stays listed', async (t) => {
  const { get } = withSystem({ '/apis/ops.io/v1?tenant=acme': { status: 500, body: {} } });
  t.same(namesOf(await get('/apis')), ['apps', 'ops.io', 'shared.io', 'stonegate.dev']);
});
