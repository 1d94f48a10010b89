/**
 * The portal's page "Quota" in a real browser: light and dark, on a desktop and on a phone. Screenshots are
 * written to `artefacts/portal`.
 */
import { mkdirSync } from 'node:fs';
import t from 'tap';
import type { ShownQuota } from '../../src/features/quota/own-quota-v1alpha1.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { pageFaults } from '../support/page/page-checks.ts';
import { pageOf } from '../support/portal.ts';

const missing = hasChromium() ? false : NO_CHROMIUM;
const PICTURES = 'artefacts/portal';
const PHONE = { width: 360, height: 740 };
const VIEWS = [
  ['desktop-light', { viewport: { width: 1100, height: 800 }, colorScheme: 'light' }],
  ['desktop-dark', { viewport: { width: 1100, height: 800 }, colorScheme: 'dark' }],
  ['phone-light', { viewport: PHONE, colorScheme: 'light' }],
  ['phone-dark', { viewport: PHONE, colorScheme: 'dark' }],
] as const;

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

const contentFor = async (quota: ShownQuota | undefined) =>
  (await pageOf('/quota', { quota: { quotaOf: async () => quota } })).text;

for (const [view, options] of VIEWS)
  t.test(`the page on a ${view}`, { skip: missing }, async (t) => {
    mkdirSync(PICTURES, { recursive: true });
    const browser = await launchChromium();
    t.teardown(() => browser.close());
    const page = await (await browser.newContext(options)).newPage();
    for (const [name, quota] of Object.entries(QUOTAS)) {
      await page.setContent(await contentFor(quota));
      await page.screenshot({ path: `${PICTURES}/quota-${name}-${view}.png`, fullPage: true });
      t.same(await pageFaults(page), [], name);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      t.ok(width <= options.viewport.width, `${name}: no horizontal scrolling`);
    }
  });

t.test('a screen reader hears each share', { skip: missing }, async (t) => {
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.setContent(await contentFor(QUOTAS.full));
  const shares = page.getByRole('progressbar');
  t.equal(await shares.count(), Object.keys(hard).length);
  t.equal(await page.getByRole('progressbar', { name: 'pods: 97 percent used' }).count(), 1);
  t.equal(await page.getByRole('row', { name: /requests\.cpu 17300m \+500m 16/ }).count(), 1);
});
