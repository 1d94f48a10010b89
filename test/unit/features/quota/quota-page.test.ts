import t from 'tap';
import type { ShownQuota } from '../../../../src/features/quota/own-quota-v1alpha1.ts';
import { pageOf } from '../../../support/portal.ts';

const QUOTA: ShownQuota = {
  metadata: { name: 'acme', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' },
  spec: { hard: { pods: '10', '<b>': '1' } },
  status: { used: { pods: '9', '<b>': '0' } },
};

const shown = (quota: ShownQuota | undefined) => pageOf('/quota', { quota: { quotaOf: async () => quota } });

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
