/** Checks a page in the browser for faults; see `in-page.js`. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(new URL('in-page.js', import.meta.url), 'utf8')
  .trim()
  .replace(/;$/, '');

/** @returns a description of each fault; empty if there are none */
export async function pageFaults(page: Page) {
  const faults: unknown = await page.evaluate(
    `(() => { const checks = ${SOURCE}; return [...checks.faintTexts(), ...checks.structureFaults(), ...checks.overflowing(), ...checks.frameFaults(), ...checks.brokenWords()]; })()`,
  );
  if (!Array.isArray(faults)) throw new TypeError('the checks gave no list');
  return faults.map(String);
}
