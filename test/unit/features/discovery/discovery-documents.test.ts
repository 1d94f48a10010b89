import t from 'tap';
import { parse } from 'yaml';
import type { UpstreamFetcher, UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import type { Account } from '../../../../src/kubernetes/upstream-request.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { discoveryDocuments } from '../../../support/discovery.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeFetcher } from '../../../support/outgoing.ts';

const mode = createArktosMode({ systemTenant: 'system', domains: {} });
const acme = toTenantName('acme');
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const VERSION = { group: 'example.com', version: 'v1' };
const GADGETS = { name: 'gadgets', namespaced: false, tenanted: false };

type Said = { status: number; body: unknown };
const said = (body: unknown): Said => ({ status: 200, body });
const absent: Said = { status: 404, body: 'no such page' };
const fault: Said = { status: 500, body: 'a fault' };
const list = (...resources: object[]): Said =>
  said({ kind: 'APIResourceList', groupVersion: 'example.com/v1', resources });
const definitions = said(
  parse(`
  kind: CustomResourceDefinitionList
  items: [{metadata: {name: gadgets.example.com, labels: {arktos.futurewei.com/crd-sharing-policy: Forced}}}]`),
);

/** An API server with these responses for definitions, the system tenant's resources and acme's. */
function discovered(given: { definitions: Said; system: Said; own: Said }) {
  const clock = createFakeClock();
  const saying = { ...given };
  const fetcher = fakeFetcher(({ target }) => {
    if (target === DEFINITIONS) return saying.definitions;
    return target.includes('tenant=') ? saying.own : saying.system;
  });
  const { documents } = discoveryDocuments(fetcher, mode, clock);
  const signal = new AbortController().signal;
  return {
    saying,
    clock,
    asked: fetcher.asked,
    preferredVersion: (group: string) => documents.preferredVersion(acme, group, signal),
    resource: (name = 'gadgets') => documents.resource(acme, VERSION, name, signal),
    shown: async (): Promise<UpstreamResponse> =>
      documents.get(
        acme,
        { kind: 'discovery', path: '/apis/example.com/v1', query: 'tenant=acme', reduce: 'resources' },
        'application/json',
        signal,
      ),
  };
}

t.test('a resource whose objects all tenants share is found', async (t) => {
  const { resource } = discovered({ definitions, system: list(GADGETS), own: absent });
  t.strictSame(await resource(), GADGETS);
});

for (const [what, broken] of [
  ['the definitions', { definitions: fault }],
  ['the right to the definitions', { definitions: { status: 403, body: 'forbidden' } }],
  ['the system tenant’s resources', { system: fault }],
] as const)
  for (const [whose, own] of [
    ['has no such group', absent],
    ['has defined its own', list({ name: 'gadgets', namespaced: true })],
  ] as const)
    t.test(`without ${what} a lookup for a tenant that ${whose} fails with 503`, async (t) => {
      const { resource } = discovered({ definitions, system: list(GADGETS), own, ...broken });
      await t.rejects(resource(), { code: 'UpstreamUnavailable' });
      await t.rejects(resource(), { code: 'UpstreamUnavailable' }, 'nor a moment later');
    });

t.test('a document that was shown without the definitions does not affect later lookups', async (t) => {
  const own = list({ name: 'gadgets', namespaced: true });
  const { saying, clock, resource, shown } = discovered({ definitions: fault, system: list(GADGETS), own });
  t.equal((await shown()).status, 200, 'the document itself is shown');
  saying.definitions = definitions;
  clock.advance(4_999);
  await t.rejects(resource(), { code: 'UpstreamUnavailable' });
  clock.advance(1);
  t.strictSame(await resource(), GADGETS);
});

t.test(
  'a version that the system tenant does not have shares nothing, and is not requested each time',
  async (t) => {
    const own = { name: 'gadgets', namespaced: true };
    const { asked, resource } = discovered({ definitions, system: absent, own: list(own) });
    t.strictSame(await resource(), own);
    t.equal(await resource('others'), undefined);
    t.equal(await resource('others'), undefined);
    t.equal(asked.filter(({ target }) => target === '/apis/example.com/v1').length, 1);
  },
);

t.test(
  'the version of a group that clients use is the preferred one of the tenant’s discovery',
  async (t) => {
    const version = { groupVersion: 'example.com/v1', version: 'v1' };
    const own = said({ name: 'example.com', versions: [version], preferredVersion: version });
    const { saying, clock, preferredVersion } = discovered({ definitions: fault, system: absent, own });
    t.equal(await preferredVersion('example.com'), 'v1');
    saying.own = absent;
    clock.advance(5_000);
    t.equal(await preferredVersion('example.com'), undefined, 'the tenant has no such group');
    t.equal(await preferredVersion('a/b'), undefined, 'only a group is requested');
  },
);

t.test('guests whose own tenant is slow do not delay the discovery of the tenant they entered', async (t) => {
  const isOfGuest = ({ account }: { account: Account }) =>
    account.kind === 'tenant' && account.guests === true;
  const answers = fakeFetcher(({ target }) => (target === DEFINITIONS ? definitions : list(GADGETS)));
  const never = new Promise<UpstreamResponse>(() => {});
  const fetcher: UpstreamFetcher = {
    fetch: (request) => (isOfGuest(request) ? never : answers.fetch(request)),
  };
  const { documents } = discoveryDocuments(fetcher, mode, createFakeClock());
  const { signal } = new AbortController();
  const ask = (path: string, account?: Account) =>
    documents.get(
      acme,
      { kind: 'discovery', path, query: '', reduce: 'none' },
      'application/json',
      signal,
      account,
    );
  const guests = { kind: 'tenant', tenant: toTenantName('globex'), guests: true } as const;
  void ask('/api', guests);
  for (let count = 0; count < 300; count += 1) void ask('/healthz', guests).catch(() => {});
  t.equal((await ask('/api')).status, 200, 'the same document is not delayed');
  t.equal((await ask('/healthz')).status, 200);
});
