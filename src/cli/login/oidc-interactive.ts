/**
 * The login in the browser, as the person sees it: it opens, they log in, and it says that they can go back.
 */
import type { OidcLogin } from '../../clients/oidc-login.ts';
import type { OidcTokens } from '../../clients/oidc-provider.ts';
import { LoginError, type Terminal } from './credential-source.ts';
import { type RedirectAnswer, type RedirectListener, startRedirectListener } from './oidc-redirect.ts';

export interface BrowserLoginOptions {
  /** Whether to open a browser. */
  readonly browser: boolean;
  readonly redirectURI: URL;
  /** Tried in order; 0 is any. */
  readonly ports: readonly number[];
}

/** Milliseconds that a person has in the browser, second factor included. */
const TIME_TO_LOG_IN = 5 * 60_000;

/**
 * @returns undefined where there is no browser, and the provider offers the login by device code instead
 * @throws LoginError, OidcLoginError
 */
export async function logInWithBrowser(
  provider: OidcLogin,
  options: BrowserLoginOptions,
  terminal: Terminal,
): Promise<OidcTokens | undefined> {
  const listener = await startRedirectListener(options.redirectURI, options.ports);
  try {
    const login = await provider.beginCode(listener.redirectURI);
    listener.expect(login.state, () => terminal.say('Refused an answer that is not of this login.'));
    if (options.browser && (await terminal.openBrowser(login.url))) {
      terminal.say('Log in in the browser that has been opened.');
    } else {
      if (options.browser && provider.offersDeviceCode && terminal.interactive) return undefined;
      if (options.browser && !terminal.interactive) throw nobodyThere(terminal);
      terminal.say(`To log in, open this page in a browser on this computer: ${login.url}`);
    }
    const answer = await inTime(listener, terminal);
    try {
      const tokens = await login.redeem(answer.url);
      await answer.show('Logged in', 'You can close this page and go back to the terminal.');
      return tokens;
    } catch (error) {
      await answer.show('Not logged in', error instanceof Error ? error.message : String(error));
      throw error;
    }
  } finally {
    await listener.close();
  }
}

async function inTime(listener: RedirectListener, terminal: Terminal): Promise<RedirectAnswer> {
  const deadline = new AbortController();
  const limit = terminal.clock.after(TIME_TO_LOG_IN, () => {
    deadline.abort(new LoginError('nobody logged in within five minutes'));
  });
  try {
    return await listener.answer(AbortSignal.any([terminal.signal, deadline.signal]));
  } finally {
    limit.cancel();
  }
}

function nobodyThere({ command }: Terminal): LoginError {
  return new LoginError(
    `no browser can be opened, and nobody can be asked here: run this in a terminal first, then kubectl again: ${command}`,
  );
}

// FROM src/cli/login/oidc-device-code.ts
/*!
 * The login by device code, as the person sees it.
 */

/** @throws OidcLoginError where the provider offers none, or the person does not confirm it */
export async function logInWithDeviceCode(provider: OidcLogin, terminal: Terminal): Promise<OidcTokens> {
  const login = await provider.beginDevice();
  terminal.say(`To log in, open this page on any device: ${login.verificationURI}`);
  terminal.say(`and enter the code ${login.userCode}`);
  if (login.verificationURIComplete !== undefined) {
    terminal.say(`or open the page with the code in it: ${login.verificationURIComplete}`);
  }
  return login.wait();
}
