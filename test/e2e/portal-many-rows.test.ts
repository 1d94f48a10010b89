/** How pages look in a real browser if there is more than they show, and if a rate is exceeded. */
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { hasChromium, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { assertShown } from '../support/page/visit-page.ts';
import { createFakePortal } from '../support/portal.ts';
import { pageSources } from '../support/portal-pages.ts';

const missing = hasChromium() ? false : NO_CHROMIUM;

t.test(
  'a page with a filter, and the page of an exceeded rate, have no faults',
  { skip: missing },
  async (t) => {
    const browser = await launchChromium();
    t.teardown(() => browser.close());
    let isExceeded = false;
    const limiter = {
      admit() {
        if (!isExceeded) return undefined;
        throw new StatusError(
          'UserRateExceeded',
          'Too many requests, please try again later: the user "acme:alice"',
        );
      },
    };
    const portal = createFakePortal({
      ...pageSources({ members: 230, namespaces: 300, tokens: 230 }),
      limiter,
    });
    const visitor = portal.browser();
    await visitor.signIn();
    for (const [name, path] of [
      ['members-many', '/members?namespace=shop'],
      ['members-filtered', '/members?namespace=shop&name=user-22'],
      ['tokens-filtered', '/tokens?name=token-22'],
    ] as const)
      await assertShown(t, browser, name, (await visitor.get(path)).text);
    const token = visitor.formToken;
    isExceeded = true;
    await assertShown(t, browser, 'rate-exceeded', (await visitor.get('/tokens')).text);
    const form = { do: 'create', level: 'read', namespaces: 'web', days: '1', token };
    const refused = await visitor.post('/tokens?name=token-22', form);
    t.equal(refused.status, 429);
    await assertShown(t, browser, 'rate-exceeded-form', refused.text);
  },
);
