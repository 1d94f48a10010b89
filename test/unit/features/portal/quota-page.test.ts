import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { ShownQuota } from '../../../../src/features/quota/own-quota-v1alpha1.ts';
import { createFakePortal } from '../../../support/portal.ts';

const QUOTA: ShownQuota = {
  metadata: { name: 'acme', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
  spec: { hard: { pods: '10', '<b>': '1' } },
  status: { used: { pods: '9', '<b>': '0' } },
};

async function shown(quota: ShownQuota | StatusError | undefined) {
  const portal = createFakePortal({
    quota: {
      async quotaOf() {
        if (quota instanceof Error) throw quota;
        return quota;
      },
    },
  });
  const browser = portal.browser();
  await browser.signIn();
  return browser.get('/quota');
}

t.test('a signed-in user sees the quota of their tenant', async (t) => {
  const { status, text } = await shown(QUOTA);
  t.equal(status, 200);
  for (const part of [
    '<span class="tag">acme</span>',
    '<a href="/quota" aria-current="page">Quota</a>',
    'aria-label="pods: 90 percent used"',
    '<code>&lt;b&gt;</code>',
  ])
    t.match(text, part);
});

t.test('a tenant without a quota is told so', async (t) => {
  t.match((await shown(undefined)).text, 'Your tenant has no quota.');
});

t.test('an API server that does not tell is a page with the reason', async (t) => {
  const { status } = await shown(new StatusError('UpstreamUnavailable', 'the API server is down'));
  t.equal(status, 503);
});

t.test('who has not signed in comes back to the page after it', async (t) => {
  const portal = createFakePortal({ quota: { quotaOf: async () => QUOTA } });
  const { status, headers } = await portal.browser().get('/quota');
  t.equal(status, 303);
  t.match(Object.fromEntries(headers).Location, /next=%2Fquota/);
});

t.test('without quotas there is neither page nor link', async (t) => {
  const browser = createFakePortal().browser();
  await browser.signIn();
  t.equal((await browser.get('/quota')).status, 404);
  t.notMatch((await browser.get('/')).text, '/quota');
});
