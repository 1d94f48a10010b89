/** A user of the portal in a real browser, and pages on a desktop and on a phone in light and dark mode. */
import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { pageFaults } from './page-checks.ts';

/**
 * A folder for pictures of the pages, for developers who want to look at them. Without it none are taken,
 * since Chromium sometimes fails to on a busy machine.
 */
const { PICTURES } = process.env;
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const VIEWS = [
  ['desktop-light', DESKTOP, 'light'],
  ['desktop-dark', DESKTOP, 'dark'],
  ['phone-light', PHONE, 'light'],
  ['phone-dark', PHONE, 'dark'],
] as const;

/** A browser window in which scripts are disabled. */
export async function openWindow(t: Pick<Test, 'teardown'>, browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    ...{ ignoreHTTPSErrors: true, locale: 'en-GB', viewport: DESKTOP },
    javaScriptEnabled: false,
  });
  t.teardown(() => context.close());
  context.setDefaultTimeout(120_000);
  return context.newPage();
}

/** Signs in with Keystone to the project `web`, on the sign-in page in the window. */
export async function signInAs(page: Page, user: string, domain = 'acme') {
  const entered = { 'User name': user, Password: `${user}-pass`, Domain: domain, Project: 'web' };
  for (const [label, text] of Object.entries(entered)) await page.getByLabel(label).fill(text);
  await press(page, 'Sign in');
}

/** Presses a button that loads a new page. */
export async function press(page: Page, name: string | RegExp) {
  await Promise.all([
    page.waitForEvent('load'),
    page.getByRole('button', { name, exact: typeof name === 'string' }).click(),
  ]);
}

/** Asserts that the page has no faults in light and dark mode, on a desktop and on a phone. */
export async function assertShown(t: Test, browser: Browser, name: string, content: string) {
  for (const [view, viewport, colorScheme] of VIEWS) {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    await page.setContent(content);
    await takePicture(page, `${name}-${view}`);
    t.same(await pageFaults(page), [], `${name} has no faults, ${view}`);
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
    await takePicture(page, `${name}-open-${view}`);
    t.same(await pageFaults(page), [], `${name} has no faults with all details open, ${view}`);
    await context.close();
  }
}

async function takePicture(page: Page, name: string) {
  if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
}
