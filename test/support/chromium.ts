/** Debian’s headless Chromium, for tests that need a real browser. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** Why a test that needs Chromium is skipped, and how to install it. */
export const NO_CHROMIUM = 'chromium is not installed: apt-get install chromium';

export const hasChromium = () => existsSync(EXECUTABLE);

/** Chromium may send no requests except those of the pages that the test opens. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * The caller closes it. Chromium's sandbox is off: it does not work in containers, and the pages are ours.
 */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, chromiumSandbox: false, args: FLAGS });
}
