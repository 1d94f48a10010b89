/**
 * Takes the pictures of the portal in `docs/images`, and records the digests by which
 * `test/repository/pictures.test.ts` finds a picture that is older than its page. Needs Chromium.
 */
import { writeFileSync } from 'node:fs';
import { launchChromium } from '../test/support/chromium.ts';
import { DIGESTS, type Digests, digestOf, PICTURES, picturedPages } from '../test/support/portal-pictures.ts';

const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const digests: Record<string, Digests[string]> = {};
  for (const [name, content] of await picturedPages()) {
    await page.setContent(content);
    const picture = await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
    digests[name] = { page: digestOf(content), picture: digestOf(picture) };
  }
  writeFileSync(DIGESTS, `${JSON.stringify(digests, undefined, 2)}\n`);
} finally {
  await browser.close();
}
