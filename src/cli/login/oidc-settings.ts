/**
 * The settings of a login at an OpenID provider, read from flags.
 */
import { isLoopback } from '../../lib/transport-security.ts';
import { UsageError } from '../command.ts';
import { absoluteName } from '../given-file.ts';
import type { OidcValues } from './login-options.ts';

export type OidcSettings = ReturnType<typeof readOidcFlags>;

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
export function readOidcFlags(values: OidcValues, env: NodeJS.ProcessEnv) {
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
    // 0 is any.
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
