/**
 * Opens a page in the user's browser. The opener is started without a shell (which would interpret `&` in
 * the URL), without our standard streams (standard output belongs to kubectl) and in its own process group
 * (Ctrl-C ends only the login).
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { type Clock, systemClock } from '../../lib/clock.ts';

/**
 * Milliseconds after which an opener that still runs counts as successful: some run as long as the browser.
 */
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
 * @param address an http or https URL
 * @returns false if there is no browser or it failed to open
 * @throws Error for another scheme
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

/** Without a display `xdg-open` would start a text browser, which is not visible. */
function openerOf(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  // `start` is a shell built-in; this is what it runs.
  if (platform === 'win32') return ['rundll32.exe', 'url.dll,FileProtocolHandler'];
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER;
  return screen ? ['xdg-open'] : undefined;
}
