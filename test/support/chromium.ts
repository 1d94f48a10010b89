/** Debian's Chromium without a screen, for tests that want a real browser. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** For a test that is skipped where no Chromium is: how to get one. */
export const NO_CHROMIUM = 'chromium is not installed: apt-get install chromium';

export const hasChromium = (): boolean => existsSync(EXECUTABLE);

/** Nothing of it may ask anybody but the pages that the test opens. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The caller closes it. Chromium's own sandbox does not work in containers, and the pages are ours. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, chromiumSandbox: false, args: FLAGS });
}
