/**
 * `stonegate login --oidc`: a login at an OpenID provider, by the refresh token of the last login, else in
 * the browser, else with a device code. Modules that call the provider are imported on demand, so that a
 * cached token is not delayed.
 */
import type { OidcLogin } from '../../clients/oidc-login.ts';
import type { OidcTokens } from '../../clients/oidc-provider.ts';
import { isLoopback } from '../../lib/transport-security.ts';
import { UsageError } from '../command.ts';
import { absoluteName, readGiven } from '../given-file.ts';
import {
  type CredentialSource,
  LoginError,
  type ObtainedCredential,
  type Terminal,
} from './credential-source.ts';
import type { OidcValues } from './login-options.ts';

/** @throws UsageError if an option is missing or invalid */
export function createOidcSource(values: OidcValues, env: NodeJS.ProcessEnv): CredentialSource {
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
  const { OidcLoginError } = await import('../../clients/oidc-login-error.ts');
  try {
    return await provider.refresh(previous.refreshToken, previous.token);
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

function credentialOf({ idToken, expiresAt, refreshToken }: OidcTokens): ObtainedCredential {
  return { token: idToken, expiresAt, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

async function readIfNamed(option: string, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readGiven(option, file);
}

export interface OidcSettings {
  readonly issuer: string;
  readonly clientID: string;
  readonly clientSecretFile: string | undefined;
  readonly caFile: string | undefined;
  readonly scopes: readonly string[];
  readonly extraParameters: Readonly<Record<string, string>>;
  readonly deviceCode: boolean;
  readonly browser: boolean;
  readonly redirectURI: URL;
  /** 0 means any. */
  readonly ports: readonly number[];
}

/** Set by each login itself; fixed values would disable the protection that they give. */
const RESERVED_PARAMETERS = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

/** @throws UsageError if an option is missing or invalid */
export function readOidcFlags(values: OidcValues, env: NodeJS.ProcessEnv): OidcSettings {
  const { 'client-secret-file': secretFile, 'ca-file': caFile } = values;
  return {
    issuer: readIssuer(values['issuer-url']),
    clientID: required('client-id', values['client-id']),
    clientSecretFile: secretFile && absoluteName(secretFile, env),
    caFile: caFile && absoluteName(caFile, env),
    scopes: (values.scope ?? []).flatMap((scope) => scope.split(/[\s,]+/)).filter((scope) => scope !== ''),
    extraParameters: Object.fromEntries((values['extra-param'] ?? []).map(readParameter)),
    deviceCode: values['device-code'] ?? false,
    browser: !(values['no-browser'] ?? false),
    redirectURI: readRedirectURI(values['redirect-uri'] ?? 'http://127.0.0.1/'),
    ports: (values['listen-port'] ?? ['0']).map(readPort),
  };
}

function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`--${name} is required with --oidc`);
  return value;
}

function readIssuer(value: string | undefined): string {
  const text = required('issuer-url', value);
  const url = parseURL('issuer-url', text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('--issuer-url must be without user, query and fragment');
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return text;
  throw new UsageError('--issuer-url must be https (http only on this very machine)');
}

function readRedirectURI(text: string): URL {
  const url = parseURL('redirect-uri', text);
  const own = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url.protocol !== 'http:' || !own || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('--redirect-uri must be http://127.0.0.1/, http://[::1]/ or http://localhost/');
  }
  if (url.port !== '') throw new UsageError('the port of --redirect-uri is said with --listen-port');
  return url;
}

function parseURL(name: string, text: string): URL {
  if (!URL.canParse(text)) throw new UsageError(`--${name} is no URL: ${JSON.stringify(text)}`);
  return new URL(text);
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new UsageError(`--listen-port is no port: ${JSON.stringify(text)}`);
  return port;
}

function readParameter(text: string): [string, string] {
  const split = text.indexOf('=');
  if (split < 1) throw new UsageError(`--extra-param must be NAME=VALUE, not ${JSON.stringify(text)}`);
  const name = text.slice(0, split);
  if (RESERVED_PARAMETERS.has(name)) throw new UsageError(`--extra-param cannot set ${name}`);
  return [name, text.slice(split + 1)];
}
