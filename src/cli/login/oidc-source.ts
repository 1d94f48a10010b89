/**
 * `stonegate login --oidc`: a login at an OpenID provider. The refresh token of the last login comes first, since it
 * asks nobody; then the browser; where there is none, a code to confirm on another device.
 *
 * What speaks with the provider is imported when it is needed: with a cached token kubectl must not wait for it.
 */
import type { OidcLogin } from '../../clients/oidc-login.ts';
import type { OidcTokens } from '../../clients/oidc-provider.ts';
import {
  type CredentialSource,
  LoginError,
  type ObtainedCredential,
  type Terminal,
} from './credential-source.ts';
import { readGivenForLogin } from './named-file.ts';
import { type OidcSettings, type OidcValues, readOidcFlags } from './oidc-flags.ts';

export { OIDC_USAGE, oidcFlags } from './oidc-flags.ts';

/**
 * @param values of `oidcFlags`
 * @throws UsageError where an option is missing or cannot be used
 */
export function createOidcSource(
  values: OidcValues,
  env: Readonly<Record<string, string | undefined>>,
): CredentialSource {
  const settings = readOidcFlags(values, env);
  return {
    identity: identityOf(settings),
    async obtain(terminal, previous) {
      const { createOidcLogin } = await import('../../clients/oidc-login.ts');
      const { OidcLoginError } = await import('../../clients/oidc-login-error.ts');
      let provider: OidcLogin | undefined;
      try {
        provider = await createOidcLogin({
          ...settings,
          clientSecret: (await readIfNamed('--client-secret-file', settings.clientSecretFile))?.trim(),
          ca: await readIfNamed('--ca-file', settings.caFile),
          clock: terminal.clock,
          signal: terminal.signal,
        });
        const tokens =
          (await renewed(provider, terminal, previous)) ?? (await loggedIn(provider, settings, terminal));
        return credentialOf(tokens);
      } catch (error) {
        if (terminal.signal.aborted) throw new LoginError('the login was cancelled');
        throw error instanceof OidcLoginError ? new LoginError(error.message) : error;
      } finally {
        await provider?.close();
      }
    },
  };
}

/** The parameters belong to it: a provider may be told by them whom to log in. */
function identityOf({ issuer, clientID, scopes, extraParameters }: OidcSettings): readonly string[] {
  const parameters = Object.entries(extraParameters).map(([name, value]) => `${name}=${value}`);
  return ['oidc', issuer, clientID, [...scopes].sort().join(' '), ...parameters.sort()];
}

/** @returns undefined where the person has to log in anew */
async function renewed(
  provider: OidcLogin,
  terminal: Terminal,
  previous: ObtainedCredential | undefined,
): Promise<OidcTokens | undefined> {
  if (previous?.refreshToken === undefined) return undefined;
  const { OidcLoginError } = await import('../../clients/oidc-login-error.ts');
  try {
    return await provider.refresh(previous.refreshToken, previous.token);
  } catch (error) {
    if (!(error instanceof OidcLoginError) || terminal.signal.aborted) throw error;
    // The person could do nothing about these in a browser either.
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
  if (!settings.deviceCode) {
    const { logInWithBrowser } = await import('./oidc-browser-login.ts');
    const tokens = await logInWithBrowser(provider, settings, terminal);
    if (tokens !== undefined) return tokens;
  }
  const { logInWithDeviceCode } = await import('./oidc-device-code.ts');
  return logInWithDeviceCode(provider, terminal);
}

function credentialOf({ idToken, expiresAt, refreshToken }: OidcTokens): ObtainedCredential {
  return { token: idToken, expiresAt, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

async function readIfNamed(option: string, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readGivenForLogin({ option, file });
}
