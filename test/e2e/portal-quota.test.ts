/**
 * The portal's page "Quota" in a real browser: light and dark, on a desktop and on a phone. Screenshots are
 * written to `artefacts/portal`.
 */
import t from 'tap';
import type { ShownQuota } from '../../src/features/quota/own-quota-v1alpha1.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { assertShown, openWindow } from '../support/page/visit-page.ts';
import { pageOf } from '../support/portal.ts';

const metadata = { name: 'acme', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' };
const hard = {
  'count/horizontalpodautoscalers.autoscaling': '20',
  'limits.memory': '64Gi',
  pods: '40',
  'requests.cpu': '16',
  'requests.nvidia.com/gpu': '4',
  'services.loadbalancers': '0',
};
const used = {
  'count/horizontalpodautoscalers.autoscaling': '3',
  'limits.memory': '35Gi',
  pods: '39',
  'requests.cpu': '17300m',
  'requests.nvidia.com/gpu': '0',
  'services.loadbalancers': '0',
};
const QUOTAS: Readonly<Record<string, ShownQuota | undefined>> = {
  full: { metadata, spec: { hard }, status: { used, reserved: { pods: '1', 'requests.cpu': '500m' } } },
  uncounted: { metadata, spec: { hard: { pods: '10' } }, status: {} },
  none: undefined,
};

t.test('the quota page', { skip: hasChromium() ? false : NO_CHROMIUM }, async (t) => {
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const contentFor = async (quota: ShownQuota | undefined) =>
    (await pageOf('/quota', { quota: { quotaOf: async () => quota } })).text;
  for (const [name, quota] of Object.entries(QUOTAS))
    await assertShown(t, browser, `quota-${name}`, await contentFor(quota));

  await t.test('a screen reader announces each share', async (t) => {
    const page = await openWindow(t, browser);
    await page.setContent(await contentFor(QUOTAS.full));
    t.equal(await page.getByRole('progressbar').count(), Object.keys(hard).length);
    t.equal(await page.getByRole('progressbar', { name: 'pods: 97 percent used' }).count(), 1);
    t.equal(await page.getByRole('row', { name: /requests\.cpu 17300m \+500m 16/ }).count(), 1);
  });
});
