/**
 * What a user of a tenant sees of the tenant's quota: the limits, the usage and the reservations, and nothing
 * that only concerns the operator.
 */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { highUsage } from '../../../../src/features/quota/build.ts';
import { OWN_QUOTAS, quotaProblem, quotaRows } from '../../../../src/features/quota/own-quota-v1alpha1.ts';
import { createShownQuotas } from '../../../../src/features/quota/show-quota.ts';
import type { Feature } from '../../../../src/proxy/feature.ts';
import { createOwnAPI } from '../../../../src/proxy/own-api.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { fakeFetcher, outgoingOf } from '../../../support/outgoing.ts';
import { createFakePortal } from '../../../support/portal.ts';

const PATH = '/apis/stonegate.dev/v1alpha1/tenantquotas';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Counted',
  message: 'hidden',
  lastTransitionTime: '2026-11-26T09:00:00Z',
};
const stored = {
  apiVersion: 'tenancy.stonegate.dev/v1alpha1',
  kind: 'TenantQuota',
  metadata: {
    name: 'acme',
    namespace: 'stonegate',
    uid: 'uid-of-the-quota',
    creationTimestamp: '2026-11-26T09:00:00Z',
    labels: { plan: 'hidden' },
  },
  spec: { hard: { pods: '10', 'requests.memory': '4Gi' } },
  status: {
    used: { pods: '3', 'requests.memory': '1Gi' },
    summary: 'hidden',
    revisions: { pods: '77' },
    ledger: [
      'hidden-1 7 0 pods web a pods=1,requests.memory=536870912,services=1 ',
      'hidden-2 7 0 pods web b pods=1,requests.memory=1073741824 pods=1',
    ].join('\n'),
    conditions: [READY],
  },
};
const SHOWN = {
  metadata: { name: 'acme', uid: 'uid-of-the-quota', creationTimestamp: '2026-11-26T09:00:00Z' },
  spec: { hard: { pods: '10', 'requests.memory': '4Gi' } },
  status: {
    used: { pods: '3', 'requests.memory': '1Gi' },
    reserved: { pods: '1', 'requests.memory': '1536Mi' },
  },
};

const MODES = {
  shared: createSharedMode({ domains: { ops: 'system' }, reservedNamePrefixes: [] }),
  arktos: createArktosMode({ systemTenant: 'system', domains: { ops: 'system' } }),
};

function site(
  answer: Parameters<typeof fakeFetcher>[0] = () => ({ status: 200, body: stored }),
  name: keyof typeof MODES = 'shared',
) {
  const mode = MODES[name];
  const fetcher = fakeFetcher(answer);
  const quotas = createShownQuotas(
    { ...(name === 'arktos' && { tenant: 'system' }), namespace: 'stonegate' },
    { mode, upstream: fetcher, clock: createFakeClock(Date.parse('2026-11-26T12:00:00Z')) },
  );
  const [resource] = quotas.ownResources ?? [];
  const api = createOwnAPI([OWN_QUOTAS]);
  return {
    fetcher,
    quotas,
    async get(target: string, accept = 'application/json', home = 'acme') {
      const headers = [['Accept', accept]] as const;
      const outgoing = outgoingOf(mode, keystoneIdentity('alice', { home }), { target, headers });
      const route = api.route(readRequestInfo('GET', target, mode.facts), 'GET', outgoing.tenant);
      const response = await resource?.handle?.({ ...outgoing, route: route ?? outgoing.route });
      if (response === undefined || !('body' in response)) throw new Error('no response');
      return JSON.parse(response.body.toString());
    },
  };
}

/** The page that a user sees, of whatever home. */
async function pageFor({ pages = [] }: Feature, home: string): Promise<string> {
  const portal = createFakePortal({ pages });
  portal.world.identity = keystoneIdentity('alice', { home, expiresAt: portal.clock.now() + 60_000 });
  const browser = portal.browser();
  await browser.signIn();
  return (await browser.get('/quota')).text;
}

t.test('the list has the quota of the user’s tenant, without what only concerns the operator', async (t) => {
  const { get, fetcher } = site();
  const expected = { kind: 'TenantQuotaList', apiVersion: 'stonegate.dev/v1alpha1', metadata: {} };
  t.strictSame(await get(PATH), { ...expected, items: [SHOWN] });
  t.match(fetcher.asked, [
    {
      target: '/apis/tenancy.stonegate.dev/v1alpha1/namespaces/stonegate/tenantquotas/acme',
      sender: { kind: 'stonegate' },
      account: { kind: 'tenant', tenant: 'acme' },
    },
  ]);
  t.strictSame(await get(`${PATH}/acme`), {
    kind: 'TenantQuota',
    apiVersion: 'stonegate.dev/v1alpha1',
    ...SHOWN,
  });
});

t.test('on Arktos the quota is in the system tenant', async (t) => {
  const { get, fetcher } = site(undefined, 'arktos');
  await get(PATH);
  t.match(fetcher.asked, [
    {
      target: '/apis/tenancy.stonegate.dev/v1alpha1/tenants/system/namespaces/stonegate/tenantquotas/acme',
    },
  ]);
});

t.test('a tenant that was not counted has no usage; without a quota the list is empty', async (t) => {
  const uncounted = site(() => ({ status: 200, body: { ...stored, status: {} } }));
  t.strictSame((await uncounted.get(PATH)).items, [{ ...SHOWN, status: {} }]);
  t.match(await uncounted.get(PATH, TABLE), { rows: [{ cells: ['acme', /^pods: \?\/10/] }] });
  const none = site(() => ({ status: 404, body: {} }));
  t.same((await none.get(PATH)).items, []);
  await t.rejects(none.get(`${PATH}/acme`), { code: 'NotFound' });
});

t.test('users of the system tenant are told where the quotas of all tenants are', async (t) => {
  const { get, quotas, fetcher } = site(undefined, 'arktos');
  await t.rejects(get(PATH, undefined, 'ops'), {
    code: 'NotFound',
    message: /tenantquotas\.tenancy\.stonegate\.dev/,
  });
  t.match(await pageFor(quotas, 'ops'), 'Your tenant has no quota.');
  t.same(fetcher.asked, []);
});

t.test('a kind that cannot be listed is shown', async (t) => {
  const failing = { ...READY, status: 'False', reason: 'KindUnlisted', message: 'pods cannot be listed' };
  const { get } = site(() => ({ status: 200, body: { ...stored, status: { conditions: [failing] } } }));
  const [shown] = (await get(PATH)).items;
  t.same(shown.status.conditions, [failing]);
  t.equal(quotaProblem(shown), 'pods cannot be listed');
});

t.test('the portal shows the same quota', async (t) => {
  const text = await pageFor(site().quotas, 'acme');
  for (const { resource, percent } of quotaRows(SHOWN))
    t.match(text, `aria-label="${resource}: ${percent} percent used"`);
});

t.test('an API server that cannot be used causes an error that names the reason', async (t) => {
  await t.rejects(site(() => ({ status: 403, body: {} })).get(PATH), {
    code: 'UpstreamRefusedCredential',
    message: /does not let Stonegate read tenantquotas/,
  });
  const other = { ...stored, metadata: { ...stored.metadata, name: 'globex' } };
  for (const body of ['x', {}, other])
    await t.rejects(site(() => ({ status: 200, body })).get(PATH), { code: 'UpstreamUnavailable' });
  const slow = new StatusError('UpstreamTimeout', 'no response in time');
  await t.rejects(site(() => slow).get(PATH), { code: 'UpstreamTimeout' });
});

t.test('the percentage of usage is exact, also for a limit of zero', async (t) => {
  const hard = { a: '0', b: '0', c: '3', d: '9999999999999999999', e: '4Gi', f: '100', g: '100' };
  const used = { a: '0', b: '1', c: '1', g: '29', d: '9999999999999999998', e: '6Gi', f: '99.9' };
  const rows = quotaRows({ spec: { hard }, status: { used } });
  t.same(
    rows.map(({ percent }) => percent),
    [0, 100, 33, 100, 150, 99, 29],
  );
});

t.test('usage of 80 % and more is exported, at most a thousand values, the highest first', async (t) => {
  const quotaOf = (name: string, pods: string) => ({
    ...{ apiVersion: '', kind: '', metadata: { name } },
    spec: { hard: { pods: '100', services: '0' } },
    status: { used: { pods, services: '0' } },
  });
  t.same(highUsage([quotaOf('low', '79'), quotaOf('high', '80'), quotaOf('full', '100')]), [
    [{ tenant: 'full', resource: 'pods' }, 1],
    [{ tenant: 'high', resource: 'pods' }, 0.8],
  ]);
  const many = Array.from({ length: 1_500 }, (_, at) => quotaOf(`t${at}`, at < 700 ? '90' : '99'));
  const measured = highUsage(many);
  t.equal(measured.length, 1_000);
  t.equal(measured.filter(([, ratio]) => ratio === 0.99).length, 800);
});
