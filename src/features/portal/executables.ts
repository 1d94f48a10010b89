/**
 * The executables of the `stonegate` command that `portal.commandURL` leads to, with the one for the system
 * of the visitor's browser first.
 * https://wicg.github.io/ua-client-hints/#sec-ch-ua-platform
 */
import { type HeaderList, headerValue } from '../../lib/header-list.ts';

export interface Executable {
  readonly system: string;
  readonly url: string;
}

/**
 * Platforms as the executables of a release name them, with what `Sec-CH-UA-Platform` or `User-Agent` has for
 * them: the first that matches is the visitor's. A browser does not say which chip a Mac has.
 */
const PLATFORMS = [
  ['win-x64.exe', 'Windows', /Windows/],
  ['darwin-arm64', 'macOS with Apple silicon', /macOS|Macintosh/],
  ['darwin-x64', 'macOS with Intel', /macOS|Macintosh/],
  ['linux-arm64', 'Linux on ARM', /Linux (?:aarch64|arm)/],
  ['linux-x64', 'Linux', /Linux/],
] as const;

/**
 * @param template has `{platform}`, and perhaps `{version}`
 * @returns the visitor's executable, unless it is a phone's or unknown, and the others
 */
export function executablesFor(
  headers: HeaderList,
  template: string,
  version: string,
): { readonly own: Executable | undefined; readonly others: readonly Executable[] } {
  const sent = ['sec-ch-ua-platform', 'user-agent'].map((name) => headerValue(headers, name) ?? '').join(' ');
  const found = sent.includes('Android') ? undefined : PLATFORMS.find(([, , browser]) => browser.test(sent));
  const executableOf = ([platform, system]: (typeof PLATFORMS)[number]): Executable => ({
    system,
    url: template.replaceAll('{version}', version).replaceAll('{platform}', platform),
  });
  return {
    own: found && executableOf(found),
    others: PLATFORMS.filter((each) => each !== found).map(executableOf),
  };
}
