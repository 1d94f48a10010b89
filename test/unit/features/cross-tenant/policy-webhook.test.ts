import t from 'tap';
import { hasPolicyWebhook } from '../../../../src/features/cross-tenant/policy-webhook.ts';
import { POLICY_WEBHOOK } from '../../../support/policies.ts';
import { DOWN, type ListResponse, scriptedResource } from '../../../support/scripted-resource.ts';

const registration = (name: string) => ({
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' },
  webhooks: [POLICY_WEBHOOK],
});
const OWN = registration('stonegate-policies');

function ask(...responses: ListResponse[]): Promise<boolean> {
  const configurations = scriptedResource();
  configurations.listWith(...responses);
  return hasPolicyWebhook(configurations.upstream, new AbortController().signal);
}

t.test('policies are checked if Stonegate’s webhook is registered, on whichever page it is', async (t) => {
  t.equal(await ask({ items: [registration('other'), OWN] }), true);
  t.equal(await ask({ items: [OWN], next: 'two' }, { items: [registration('other')] }), true);
  t.equal(await ask({ items: [registration('other')] }), false);
  t.equal(await ask({ items: null }), false);
});

t.test('without a list it is not known', async (t) => {
  for (const response of [403, 404, 500, 'no list', DOWN])
    await t.rejects(ask(response), { code: 'UpstreamUnavailable' });
  const forgotten = ask({ items: [OWN], next: 'two' }, 410);
  await t.rejects(forgotten, { code: 'UpstreamUnavailable' });
});
