import t from 'tap';
import { uncheckedPolicies } from '../../../../src/features/cross-tenant/policy-checks.ts';
import { POLICY_WEBHOOK } from '../../../support/policies.ts';
import { DOWN, type ListResponse, scriptedResource } from '../../../support/scripted-resource.ts';

const registration = (name: string) => ({
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  webhooks: [POLICY_WEBHOOK],
});
const OWN = registration('stonegate-policies');

async function isRegistered(...responses: ListResponse[]): Promise<boolean> {
  const configurations = scriptedResource();
  configurations.listWith(...responses);
  return (await uncheckedPolicies(configurations.upstream, new AbortController().signal)).length === 0;
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
