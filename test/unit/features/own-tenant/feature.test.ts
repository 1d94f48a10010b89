/**
 * A user of an Arktos tenant reads their own Tenant object, reduced to name, uid, age and phase. Nothing is
 * revealed about any other tenant.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { toStatus } from '../../../../src/errors/to-status.ts';
import { createOwnTenant } from '../../../../src/features/own-tenant/build.ts';
import { type HeaderList, headerValue } from '../../../../src/lib/header-list.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { discoveryDocuments } from '../../../support/discovery.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { fakeFetcher, outgoingOf } from '../../../support/outgoing.ts';
import { linesOf } from '../../../support/rows.ts';

/** A response of a real API server. */
const file = new URL('../../../conformance/arktos/recorded/tenant-get.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')).response.body;
const TENANTS = '/api/v1/tenants';
const OWN = `${TENANTS}/tenant1`;
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const HOME = { home: 'tenant1' };

const mode = createArktosMode({ systemTenant: 'system', domains: { ops: 'system' }, showsOwnTenant: true });

function site(upstream: Parameters<typeof fakeFetcher>[0] = () => ({ status: 200, body: recorded })) {
  const clock = createFakeClock(Date.parse('2026-11-21T03:19:25Z'));
  const fetcher = fakeFetcher(upstream);
  const discovery = discoveryDocuments(fetcher, mode, clock);
  const handler = createOwnTenant({ upstream: fetcher, clock, discovery }).handlers['own-tenant'];
  const outgoing = (target: string, headers: HeaderList = [], method = 'GET', home = HOME) =>
    outgoingOf(mode, keystoneIdentity('alice', home), { target, headers, method });
  return {
    clock,
    fetcher,
    outgoing,
    isAnswered: (target: string, method?: string, home = HOME) =>
      outgoing(target, [], method, home).kind === 'own-tenant',
    /** @returns status, body and header */
    async get(target: string, accept?: string) {
      try {
        const headers: HeaderList = accept === undefined ? [] : [['Accept', accept]];
        const response = await handler(outgoing(target, headers));
        return {
          status: response.status,
          body: JSON.parse(response.body.toString()),
          text: response.body.toString(),
          response,
        };
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        const { status } = toStatus(error, 'audit-1');
        return { status: status.code, body: status, text: '', response: undefined };
      }
    },
  };
}

const REDUCED = parse(`
  metadata:
    name: tenant1
    uid: 983f45e6-e5fb-4a77-a1d0-c3aba0253610
    creationTimestamp: !!str 2026-11-21T00:19:25Z
  spec: {}
  status: {phase: Active}`);

t.test('the list has the user’s own tenant, reduced', async (t) => {
  const { get, fetcher } = site();
  const { status, body, response } = await get(TENANTS);
  t.equal(status, 200);
  t.strictSame(body, { kind: 'TenantList', apiVersion: 'v1', metadata: {}, items: [REDUCED] });
  t.equal(headerValue(response?.headers ?? [], 'stonegate-filtered'), 'rbac');
  t.same(response?.annotations, { 'stonegate.dev/filtered': 'rbac' });
  t.match(
    fetcher.asked,
    parse(`
    - {method: GET, target: ${OWN}, sender: {kind: stonegate}, account: {kind: tenant, tenant: tenant1}}`),
  );
  const sent = fetcher.asked[0]?.headers;
  t.same(sent, [['Accept', 'application/json']], 'no header field of the client is sent');
});

t.test('each form of the response has the four facts, and no other', async (t) => {
  const { get } = site();
  const cells = ['tenant1', 'Active', '3h'];
  for (const target of [TENANTS, OWN]) {
    const table = await get(target, TABLE);
    t.match(table.body, { kind: 'Table', apiVersion: 'meta.k8s.io/v1', rows: [{ cells }] });
    t.same(
      table.body.columnDefinitions.map(({ name }: { name: string }) => name),
      ['Name', 'Status', 'Age'],
    );
    t.equal(table.body.rows.length, 1);
    t.strictSame(table.body.rows[0].object, {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: REDUCED.metadata,
    });
    t.strictSame((await get(`${target}?includeObject=None`, TABLE)).body.rows, [{ cells, object: null }]);
    t.match((await get(`${target}?includeObject=Object`, TABLE)).body.rows[0].object, REDUCED);
  }
  const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  t.strictSame((await get(OWN, partial)).body.metadata, REDUCED.metadata);
  const list = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
  t.strictSame((await get(TENANTS, list)).body.items[0].metadata, REDUCED.metadata);
  for (const [target, accept] of [
    [OWN, list],
    [TENANTS, partial],
    [TENANTS, 'application/vnd.kubernetes.protobuf'],
    [OWN, 'application/yaml'],
  ] as const)
    t.equal((await get(target, accept)).status, 406, `${target} ${accept}`);
  t.match((await get(`${OWN}?pretty=true`)).text, /^\{\n {2}"kind": "Tenant",\n/);
});

t.test('nothing but the four facts is shown, whatever the object has', async (t) => {
  const body = {
    ...recorded,
    metadata: { ...recorded.metadata, labels: { plan: 'hidden' }, annotations: { note: 'hidden' } },
    spec: { ...recorded.spec, note: 'hidden' },
    status: { phase: 'Terminating', note: 'hidden' },
  };
  const { get } = site(() => ({ status: 200, body }));
  for (const target of [TENANTS, OWN])
    for (const accept of [undefined, TABLE, `${TABLE.replace('v=v1;', 'v=v1beta1;')}`]) {
      const { text } = await get(`${target}?includeObject=Object`, accept);
      t.notMatch(text, /hidden|storageClusterId|hashKey|selfLink|"resourceVersion"|finalizers/);
      t.match(text, /Terminating/);
    }
  t.same(
    (await get(`${TENANTS}?labelSelector=plan`)).body.items,
    [],
    'a selector reveals nothing about labels',
  );
});

t.test('selectors and options work as for any other list', async (t) => {
  const { get } = site();
  const count = async (query: string) => (await get(`${TENANTS}?${query}`)).body.items.length;
  t.equal(await count('fieldSelector=metadata.name%3Dtenant1'), 1);
  t.equal(await count('fieldSelector=status.phase%3DActive&limit=500&resourceVersion=0'), 1);
  t.equal(await count('labelSelector=!plan'), 1);
  t.equal(await count('fieldSelector=metadata.name!%3Dtenant1'), 0);
  const other = await get(`${TENANTS}?fieldSelector=metadata.name%3Dtenant2`);
  const missing = await get(`${TENANTS}?fieldSelector=metadata.name%3Dmissing`);
  t.equal(other.text, missing.text, 'another tenant is selected like one that does not exist');
  t.same(other.body.items, []);
  for (const query of ['continue=x', 'labelSelector=a%3D%3D%3D'])
    t.equal((await get(`${TENANTS}?${query}`)).status, 400, query);
  t.equal((await get(`${TENANTS}?resourceVersionMatch=Exact`)).status, 422);
});

t.test('every other request is forwarded unchanged, for the API server to refuse', async (t) => {
  const { isAnswered, outgoing, fetcher } = site();
  for (const target of linesOf(`
    ${TENANTS}/tenant2
    ${OWN}/status
    ${TENANTS}?watch=1
    /api/v1/watch/tenants/tenant1
    /apis/example.com/v1/tenants
    /api/v1/namespaces/a/tenants`)) {
    t.notOk(isAnswered(target), target);
    t.equal(outgoing(target).route.kind, 'forward', target);
  }
  for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
    for (const target of [TENANTS, OWN]) t.notOk(isAnswered(target, method), `${method} ${target}`);
  for (const target of [TENANTS, `${TENANTS}/system`, OWN])
    t.notOk(isAnswered(target, 'GET', { home: 'ops' }), `the system tenant’s ${target}`);
  t.same(fetcher.asked, [], 'Stonegate itself requests nothing');
});

t.test('without the RBAC index every request is forwarded', async (t) => {
  const plain = createArktosMode({ systemTenant: 'system', domains: {} });
  const { route } = outgoingOf(plain, keystoneIdentity('alice', HOME), { target: TENANTS });
  t.equal(route.kind, 'forward');
  t.equal(plain.readableResources.size, 0);
});

t.test(
  'a domain without a tenant at the API server gets an empty list, and 404 for the object',
  async (t) => {
    const { get } = site(() => ({ status: 404, body: {} }));
    t.same((await get(TENANTS)).body.items, []);
    t.same((await get(TENANTS, TABLE)).body.rows, []);
    t.match((await get(OWN)).body, {
      message: 'tenants "tenant1" not found',
      reason: 'NotFound',
      details: { name: 'tenant1', kind: 'tenants' },
      code: 404,
    });
  },
);

t.test('the object is cached for a few seconds, a failure is not', async (t) => {
  let status = 500;
  const { get, fetcher, clock } = site(() => ({ status, body: recorded }));
  t.equal((await get(OWN)).status, 503);
  status = 200;
  t.equal((await get(OWN)).status, 200);
  await get(TENANTS);
  t.equal(fetcher.asked.length, 2);
  clock.advance(6_000);
  await get(TENANTS);
  t.equal(fetcher.asked.length, 3);
});

t.test('an API server that cannot be used causes a 503, or a 504 if it is too slow', async (t) => {
  const refused = await site(() => ({ status: 403, body: {} })).get(TENANTS);
  t.match(refused.body, { code: 503, message: /does not let Stonegate read tenants/ });
  const unusable = [
    { status: 500, body: {} },
    { status: 200, body: { ...recorded, kind: 'Namespace' } },
    { status: 200, body: { ...recorded, metadata: { ...recorded.metadata, name: 'tenant2' } } },
    { status: 200, body: { ...recorded, metadata: { name: 'tenant1' } } },
  ];
  for (const response of unusable)
    for (const target of [TENANTS, OWN]) {
      const { status, body } = await site(() => response).get(target);
      t.equal(status, 503, JSON.stringify(response));
      t.notMatch(body.message, /tenant2/);
    }
  const slow = new StatusError('UpstreamTimeout', 'no response in time');
  t.equal((await site(() => slow).get(TENANTS)).status, 504);
});
