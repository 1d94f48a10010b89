/**
 * Opens a page in the user's browser. The opener is started without a shell (which would interpret `&` in
 * the URL), without our standard streams (standard output belongs to kubectl) and in its own process group
 * (Ctrl-C ends only the login).
 */
import { spawn } from 'node:child_process';
import { type Clock, systemClock } from '../../lib/clock.ts';

/**
 * Milliseconds after which an opener that still runs counts as successful: some run as long as the browser.
 */
const GRACE = 3_000;

/**
 * @param address an http or https URL
 * @returns false if there is no browser or it failed to open
 * @throws Error for another scheme
 */
export async function openBrowser(
  address: string,
  env: NodeJS.ProcessEnv,
  clock: Clock = systemClock,
): Promise<boolean> {
  const { protocol, href } = new URL(address);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`${protocol} is no page for a browser`);
  const opener = openerOf(process.platform, env);
  if (opener === undefined) return false;
  const [command, ...words] = opener;
  const child = spawn(command, [...words, href], { stdio: 'ignore', detached: true, env });
  return new Promise((resolve) => {
    const grace = clock.after(GRACE, () => settle(true));
    const settle = (opened: boolean) => {
      grace.cancel();
      child.unref();
      resolve(opened);
    };
    child.once('error', () => settle(false));
    child.once('exit', (code) => settle(code === 0));
  });
}

/** Without a display `xdg-open` would start a text browser, which is not visible. */
export function openerOf(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  // `start` is a shell built-in; this is what it runs.
  if (platform === 'win32') return ['rundll32.exe', 'url.dll,FileProtocolHandler'];
  const screen = env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER;
  return screen ? ['xdg-open'] : undefined;
}
