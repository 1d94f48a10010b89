/**
 * `stonegate login --oidc`: a login at an OpenID provider, by the refresh token of the last login, else in
 * the browser, else with a device code. Modules that call the provider are imported on demand, so that a
 * cached token is not delayed.
 */
import type { OidcLogin } from '../../identity/oidc/oidc-login.ts';
import type { OidcTokens } from '../../identity/oidc/oidc-provider.ts';
import { trustSystemAuthorities } from '../../lib/transport-security.ts';
import { readGiven } from '../given-file.ts';
import {
  type CredentialSource,
  LoginError,
  type ObtainedCredential,
  type Terminal,
} from './credential-source.ts';
import type { OidcValues } from './login-options.ts';
import { type OidcSettings, readOidcFlags } from './oidc-settings.ts';

/** @throws UsageError if an option is missing or invalid */
export function createOidcSource(values: OidcValues, env: NodeJS.ProcessEnv): CredentialSource {
  const settings = readOidcFlags(values, env);
  return {
    identity: identityOf(settings),
    obtain: (terminal, previous) =>
      withProvider(settings, terminal, async (provider) => {
        const tokens =
          (await renewed(provider, terminal, previous)) ?? (await loggedIn(provider, settings, terminal));
        return credentialOf(tokens);
      }),
    // No provider revokes an ID token.
    async revoke(terminal, { refreshToken }) {
      if (refreshToken !== undefined)
        await withProvider(settings, terminal, (provider) => provider.revoke(refreshToken));
      return false;
    },
  };
}

/** @throws LoginError if the provider cannot be asked, or refuses */
async function withProvider<T>(
  settings: OidcSettings,
  terminal: Terminal,
  ask: (provider: OidcLogin) => Promise<T>,
): Promise<T> {
  const { createOidcLogin } = await import('../../identity/oidc/oidc-login.ts');
  const { OidcLoginError } = await import('../../identity/oidc/oidc-login-error.ts');
  let provider: OidcLogin | undefined;
  trustSystemAuthorities();
  try {
    provider = await createOidcLogin({
      ...settings,
      clientSecret: (await readIfNamed('--client-secret-file', settings.clientSecretFile))?.trim(),
      ca: await readIfNamed('--ca-file', settings.caFile),
      clock: terminal.clock,
      signal: terminal.signal,
    });
    return await ask(provider);
  } catch (error) {
    if (terminal.signal.aborted) throw new LoginError('the login was cancelled');
    throw error instanceof OidcLoginError ? new LoginError(error.message) : error;
  } finally {
    await provider?.close();
  }
}

const GROUPS_LOST =
  'The renewed token has no "groups", which the last one had: what they permit is refused. If the provider leaves them out of renewed tokens, only a new login brings them back: stonegate logout, then log in.';

/** Includes the extra parameters, which may select the user. */
function identityOf({ issuer, clientID, scopes, extraParameters }: OidcSettings): readonly string[] {
  const parameters = Object.entries(extraParameters).map(([name, value]) => `${name}=${value}`);
  return ['oidc', issuer, clientID, [...scopes].sort().join(' '), ...parameters.sort()];
}

/** @returns undefined if the user must log in again */
async function renewed(
  provider: OidcLogin,
  terminal: Terminal,
  previous: ObtainedCredential | undefined,
): Promise<OidcTokens | undefined> {
  if (previous?.refreshToken === undefined) return undefined;
  const { OidcLoginError } = await import('../../identity/oidc/oidc-login-error.ts');
  try {
    const tokens = await provider.refresh(previous.refreshToken, previous.token);
    const { claimOfIDToken } = await import('../../identity/oidc/oidc-provider.ts');
    const [before, after] = [previous.token, tokens.idToken].map((each) => claimOfIDToken(each, 'groups'));
    // OpenID Connect Core 1.0 §12.2 lets a renewed token lack claims of the first one.
    if (before !== undefined && after === undefined) terminal.say(GROUPS_LOST);
    return tokens;
  } catch (error) {
    if (!(error instanceof OidcLoginError) || terminal.signal.aborted) throw error;
    // The user could not fix these in a browser either.
    if (error.kind === 'unavailable' || error.code === 'invalid_client') throw error;
    terminal.say(`The last login has ended (${error.message}). Logging in again.`);
    return undefined;
  }
}

async function loggedIn(
  provider: OidcLogin,
  settings: OidcSettings,
  terminal: Terminal,
): Promise<OidcTokens> {
  const { logInWithBrowser, logInWithDeviceCode } = await import('./oidc-interactive.ts');
  if (!settings.deviceCode) {
    const tokens = await logInWithBrowser(provider, settings, terminal);
    if (tokens !== undefined) return tokens;
  }
  return logInWithDeviceCode(provider, terminal);
}

function credentialOf({ idToken, ...others }: OidcTokens): ObtainedCredential {
  return { token: idToken, ...others };
}

async function readIfNamed(option: string, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readGiven(option, file);
}
