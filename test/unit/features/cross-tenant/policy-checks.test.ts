import t from 'tap';
import { hasPolicyWebhook, missingDefinitions } from '../../../../src/features/cross-tenant/policy-checks.ts';
import { POLICY_WEBHOOK } from '../../../support/policies.ts';
import { DOWN, type ListResponse, scriptedResource } from '../../../support/scripted-resource.ts';

const registration = (name: string) => ({
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  webhooks: [POLICY_WEBHOOK],
});
const OWN = registration('stonegate-policies');

function isRegistered(...responses: ListResponse[]): Promise<boolean> {
  const configurations = scriptedResource();
  configurations.listWith(...responses);
  return hasPolicyWebhook(configurations.upstream, new AbortController().signal);
}

t.test('policies are checked if Stonegate’s webhook is registered, on whichever page it is', async (t) => {
  t.equal(await isRegistered({ items: [registration('other'), OWN] }), true);
  t.equal(await isRegistered({ items: [OWN], next: 'two' }, { items: [registration('other')] }), true);
  t.equal(await isRegistered({ items: [registration('other')] }), false);
});

t.test('without a list the check fails', async (t) => {
  for (const response of [403, 'no list', DOWN])
    await t.rejects(isRegistered(response), { code: 'UpstreamUnavailable' });
  const expired = isRegistered({ items: [OWN], next: 'two' }, 410);
  await t.rejects(expired, { code: 'UpstreamUnavailable' });
});

const POLICIES = 'crosstenantpolicies';
const ADMINISTRATIONS = 'tenantadministrations';

function missing(status: number, body: string, resources = [POLICIES, ADMINISTRATIONS]): Promise<string[]> {
  const fetcher = { fetch: async () => ({ status, headers: [], body: Buffer.from(body) }) };
  return missingDefinitions(fetcher, resources, new AbortController().signal);
}

const list = (...names: string[]) => JSON.stringify({ resources: names.map((name) => ({ name })) });

t.test('a kind is missing if the API server does not serve it', async (t) => {
  t.same(await missing(200, list(POLICIES, `${POLICIES}/status`, ADMINISTRATIONS)), []);
  t.same(await missing(200, list(POLICIES)), [ADMINISTRATIONS]);
  t.same(await missing(404, '404 page not found'), [POLICIES, ADMINISTRATIONS]);
});

t.test('the check fails if the response is not a list', async (t) => {
  for (const [status, body] of [
    [500, ''],
    [200, '{'],
    [200, '{"resources":{}}'],
  ] as const)
    await t.rejects(missing(status, body), { code: 'UpstreamUnavailable' }, body);
});
