/**
 * Opens a page in the person's browser with what their system offers for it: started directly, never through a shell,
 * which would read the `&` of an address as its own. The browser gets none of our streams, since standard output
 * belongs to kubectl, and a group of its own, so that Ctrl-C ends the login and not the browser.
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { type Clock, systemClock } from '../../lib/clock.ts';

/** Milliseconds after which an opener that still runs has opened a browser: some stay for as long as it does. */
const GRACE = 3_000;

export interface Opener {
  once(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'exit', listener: (code: number | null) => void): unknown;
  unref(): void;
}

export interface BrowserOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
  readonly clock?: Clock;
  readonly start?: (command: string, words: readonly string[], options: SpawnOptions) => Opener;
}

/**
 * @param address of http or https
 * @returns false where there is no browser, or it would not open
 * @throws Error where the address is of another kind
 */
export async function openBrowser(address: string, options: BrowserOptions): Promise<boolean> {
  const { env, platform = process.platform, clock = systemClock, start = spawn } = options;
  const { protocol, href } = new URL(address);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`${protocol} is no page for a browser`);
  const opener = openerOf(platform, env);
  if (opener === undefined) return false;
  const [command, ...words] = opener;
  const child = start(command, [...words, href], { stdio: 'ignore', detached: true, env: { ...env } });
  return new Promise((resolve) => {
    const grace = clock.after(GRACE, () => {
      child.unref();
      resolve(true);
    });
    const settle = (opened: boolean) => {
      grace.cancel();
      resolve(opened);
    };
    child.once('error', () => settle(false));
    child.once('exit', (code) => settle(code === 0));
  });
}

/** Without a screen `xdg-open` would start a browser for terminals, which nobody would see. */
function openerOf(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  // `start` is a word of the shell's; this is what it ends in.
  if (platform === 'win32') return ['rundll32.exe', 'url.dll,FileProtocolHandler'];
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER;
  return screen ? ['xdg-open'] : undefined;
}
