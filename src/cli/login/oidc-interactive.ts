/**
 * The interactive logins of `stonegate login --oidc`: in the browser, or with a device code.
 */
import type { OidcLogin } from '../../identity/oidc/oidc-login.ts';
import type { OidcTokens } from '../../identity/oidc/oidc-provider.ts';
import { unlessAborted, withDeadline } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-code.ts';
import { LoginError, type Terminal } from './credential-source.ts';
import { startRedirectListener } from './oidc-redirect.ts';
import type { OidcSettings } from './oidc-settings.ts';

/** Milliseconds for the login in the browser, second factor included. */
const TIME_TO_LOG_IN = 5 * 60_000;

/**
 * @returns undefined if there is no browser and the provider offers device codes
 * @throws LoginError, OidcLoginError
 */
export async function logInWithBrowser(
  provider: OidcLogin,
  options: Pick<OidcSettings, 'browser' | 'redirectURI' | 'ports'>,
  terminal: Terminal,
): Promise<OidcTokens | undefined> {
  const listener = await startRedirectListener(options.redirectURI, options.ports);
  try {
    const login = await provider.beginCode(listener.redirectURI);
    const redirected = listener.redirectWith(login.state, () =>
      terminal.say('Refused a redirect that does not belong to this login.'),
    );
    if (options.browser && (await terminal.openBrowser(login.url))) {
      terminal.say('Log in in the browser that has been opened.');
    } else {
      if (options.browser && provider.offersDeviceCode && terminal.interactive) return undefined;
      if (options.browser && !terminal.interactive)
        throw new LoginError(
          `no browser can be opened, and there is no terminal: run this in a terminal first, then kubectl again: ${terminal.command}`,
        );
      terminal.say(`To log in, open this page in a browser on this computer: ${login.url}`);
    }
    const answer = await withDeadline(
      terminal.clock,
      TIME_TO_LOG_IN,
      () => new LoginError('no login within five minutes'),
      (signal) => unlessAborted(redirected, signal),
      terminal.signal,
    );
    try {
      const tokens = await login.redeem(answer.url);
      await answer.show('Logged in', 'You can close this page and go back to the terminal.');
      return tokens;
    } catch (error) {
      await answer.show('Not logged in', messageOf(error));
      throw error;
    }
  } finally {
    await listener.close();
  }
}

/** @throws OidcLoginError if the provider offers no device codes or the user does not confirm the code */
export async function logInWithDeviceCode(provider: OidcLogin, terminal: Terminal): Promise<OidcTokens> {
  const login = await provider.beginDevice();
  terminal.say(`To log in, open this page on any device: ${login.verificationURI}`);
  terminal.say(`and enter the code ${login.userCode}`);
  if (login.verificationURIComplete !== undefined) {
    terminal.say(`or open the page with the code in it: ${login.verificationURIComplete}`);
  }
  return login.wait();
}
