/**
 * Explains a failed login at an OpenID provider to the user: with the provider's error code and description
 * if there are any, never with a whole response, which may contain tokens.
 * RFC 6749 §4.1.2.1 and §5.2; RFC 8628 §3.5; OpenID Connect Core 1.0 §3.1.2.6.
 */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { codeOf } from '../../lib/error-code.ts';
import { isJSONObject, ownValue } from '../../lib/json-object.ts';
import { redact } from '../../lib/untrusted-text.ts';

/**
 * `refused`: the provider refused; `unavailable`: it could not be reached; `invalid`: its response cannot be
 * used.
 */
export type OidcLoginFailure = 'refused' | 'unavailable' | 'invalid';

export class OidcLoginError extends Error {
  readonly kind: OidcLoginFailure;
  /** The provider's own error code, such as `invalid_grant`. */
  readonly code: string | undefined;

  constructor(kind: OidcLoginFailure, message: string, code?: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** Explanations of error codes. Others are shown as they are. */
const MEANINGS: Readonly<Record<string, string>> = {
  access_denied: 'the login was refused or cancelled at the provider',
  expired_token: 'the code has expired before it was confirmed',
  interaction_required: 'the provider wants to ask you something',
  invalid_client: 'the provider does not accept the client: check its id and its secret',
  invalid_grant: 'the provider does not accept the login any more',
  invalid_request: 'the provider does not understand the request',
  invalid_scope: 'the provider does not grant this client the requested scopes',
  login_required: 'the provider wants you to log in again',
  server_error: 'the provider has an error of its own',
  temporarily_unavailable: 'the provider is not available at the moment',
  unauthorized_client: 'the provider does not allow this client to log in like this',
};

const BUSY = new Set(['server_error', 'temporarily_unavailable']);
const MAX_TEXT = 300;
/** Control characters and text direction marks, which could manipulate a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** @returns untrusted text as one short line without control characters and tokens */
export function oneLine(text: string): string {
  const line = redact(text).replace(UNPRINTABLE, ' ').trim();
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
}

/** @param error what a call to the provider, or `openid-client`, threw */
export function explainOidcError(error: unknown, issuer: string): OidcLoginError {
  if (error instanceof OidcLoginError) return error;
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    return refusal(issuer, error.error, error.error_description);
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const { error: code, error_description: description } = error.cause[0]?.parameters ?? {};
    return refusal(issuer, code ?? 'invalid_client', description);
  }
  if (error instanceof ClientError) return explainClientError(error, issuer);
  return unreachable(error, issuer);
}

function refusal(issuer: string, code: string, description: string | undefined): OidcLoginError {
  const meaning = ownValue(MEANINGS, code);
  const said = [code, description].filter((part) => part !== undefined && part !== '').map(String);
  const details = oneLine(said.join(': '));
  const message = `${issuer}: ${meaning ?? 'the provider refuses'} (${details})`;
  return new OidcLoginError(BUSY.has(code) ? 'unavailable' : 'refused', message, code);
}

function explainClientError(error: ClientError, issuer: string): OidcLoginError {
  switch (error.code) {
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
      return unexpectedStatus(error.cause, issuer);
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return wrongTime(error.cause, issuer);
    case 'OAUTH_TIMEOUT':
      return new OidcLoginError('unavailable', `${issuer}: the provider did not answer in time`);
    case undefined:
      return unreachable(error.cause, issuer);
    default:
      return new OidcLoginError('invalid', `${issuer}: ${innermost(error)}`);
  }
}

function unexpectedStatus(response: unknown, issuer: string): OidcLoginError {
  const status = response instanceof Response ? response.status : 0;
  const later = status === 429 || status >= 500;
  const hint = status === 404 ? ': is the issuer spelled as the provider spells it?' : '';
  const message = `${issuer}: the provider answered with status ${status}${hint}`;
  return new OidcLoginError(later ? 'unavailable' : 'invalid', message);
}

/** The usual cause is the local clock, so both times are shown. */
function wrongTime(error: unknown, issuer: string): OidcLoginError {
  const facts = error instanceof Error ? error.cause : undefined;
  const { claims, now } = isJSONObject(facts) ? facts : {};
  const { iat, exp } = isJSONObject(claims) ? claims : {};
  const spans = `from ${instant(iat)} to ${instant(exp)}, and this computer's clock says ${instant(now)}`;
  return new OidcLoginError(
    'invalid',
    `${issuer}: the new ID token is valid ${spans}: is the clock of this computer right?`,
  );
}

function unreachable(error: unknown, issuer: string): OidcLoginError {
  const reason = innermost(error);
  const code = codeOf(error) ?? '';
  const hint = /CERT|ISSUER|SIGNATURE|ALTNAME/.test(code)
    ? '. Where the provider has a certificate authority of its own, name its file with --ca-file'
    : '';
  return new OidcLoginError('unavailable', `${issuer}: the provider cannot be asked: ${reason}${hint}`);
}

/** Libraries put the reason in the innermost cause. Only messages are read: the rest may contain tokens. */
export function innermost(error: unknown): string {
  let message = '';
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 5; depth += 1) {
    if (current.message !== '') message = current.message;
    else if ('code' in current) message = String(current.code);
    current = current.cause;
  }
  return oneLine(message === '' ? String(error) : message);
}

function instant(seconds: unknown): string {
  return typeof seconds === 'number' ? new Date(seconds * 1_000).toISOString() : 'an unknown time';
}
