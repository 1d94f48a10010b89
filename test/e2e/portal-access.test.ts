/**
 * The portal's page "What you may do" in a real browser, on a desktop and on a phone. Screenshots are written
 * to `artefacts/portal`.
 */
import t from 'tap';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { pageFaults } from '../support/page/page-checks.ts';
import { assertShown, openWindow, signInAs } from '../support/page/visit-page.ts';
import { pageOf } from '../support/portal.ts';
import { startStonegate } from '../support/stonegate.ts';

const missing = hasChromium() ? false : NO_CHROMIUM;

t.test('a user sees what they may do', { skip: missing }, async (t) => {
  const port = await freePort();
  const configuration = { access: { index: true, authorizers: ['Node', 'RBAC'] } };
  await startStonegate(t, { portal: { port }, configuration });
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await openWindow(t, browser);
  await page.goto(`https://localhost:${port}/access`);
  await signInAs(page, 'alice');
  await eventually(async () => {
    await page.goto(page.url());
    return (await page.textContent('h1')) === 'What you may do';
  });
  const text = await page.textContent('main');
  for (const fact of ['acme:alice', 'Your roles', 'member', 'Kinds and verbs']) t.match(text, fact);
  await assertShown(t, browser, 'access', await page.content());
});

const CELLS = {
  get: 'all',
  list: 'all',
  watch: 'all',
  create: 'none',
  update: 'none',
  patch: 'named',
  delete: 'none',
} as const;
const LONG = 'team-payments-production-europe-west-with-the-longest-name-of-63';
const ROWS = ['configmaps', 'horizontalpodautoscalers.autoscaling', `${LONG}.example.com`].map((kind) => ({
  ...{ kind, cells: CELLS, otherVerbs: ['deletecollection'], names: [LONG, 'tls'] },
}));

function viewOf(namespaces: number, isEachDifferent: boolean) {
  const names = Array.from({ length: namespaces }, (_, at) =>
    at % 50 === 7 ? `${LONG.slice(0, -3)}${at}` : `ns-${at}`,
  );
  const scope = 'namespaces' as const;
  const groups = isEachDifferent
    ? names.map((name, at) => ({ scope, names: [name], rows: ROWS.slice(0, 1 + (at % 3)), moreRows: 0 }))
    : [{ scope, names, rows: ROWS, moreRows: 0 }];
  const roles = [{ kind: 'ClusterRole' as const, name: 'edit', everywhere: false, namespaces: names }];
  return {
    matrix: {
      groups: namespaces === 0 ? [] : groups.slice(0, 20),
      moreGroups: Math.max(0, groups.length - 20),
    },
    roles: namespaces === 0 ? [] : roles,
    hiddenRoles: 0,
    moreRoles: 0,
    incompleteReason: undefined,
  };
}

t.test('on a phone the page fits, whatever the number of namespaces', { skip: missing }, async (t) => {
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  for (const [name, view, screens] of [
    ['no-namespace', viewOf(0, false), 1],
    ['3-namespaces', viewOf(3, false), 3],
    ['300-namespaces', viewOf(300, false), 4],
    ['300-namespaces-each-different', viewOf(300, true), 40],
  ] as const) {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    const { text } = await pageOf('/access', { access: { accessOf: async () => view } });
    await page.setContent(text);
    t.same(await pageFaults(page), [], name);
    const [width = 0, height = 0] = await page.evaluate<number[]>(
      '[document.documentElement.scrollWidth, document.documentElement.scrollHeight]',
    );
    t.ok(width <= 360, `${name}: no horizontal scrolling`);
    t.ok(height <= screens * 740, `${name}: ${height} pixels`);
    await context.close();
  }
});
