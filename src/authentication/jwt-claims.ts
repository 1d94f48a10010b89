/**
 * Reads single claims of a verified token, and holds what becomes of them to what may be a Kubernetes name. A claim
 * that is not of the expected type is refused, never converted: an array or a number made a string is somebody
 * else's name sooner or later. OpenID Connect Core 1.0 §5.
 */
import { StatusError } from '../errors/status-error.ts';
import type { JSONObject } from '../lib/json-object.ts';
import { requirePrintableText, requireUnreservedName } from './given-name.ts';
import { stringMember } from './jwt-parts.ts';

/**
 * @returns undefined where the token has no such claim, or has null for it (as issuers written in Go have for none)
 * @throws StatusError IdentityUnusable for an e-mail address that the issuer did not verify: anybody may have
 *   claimed it
 */
function claimOf(claims: JSONObject, name: string): unknown {
  if (!Object.hasOwn(claims, name) || claims[name] === null) return undefined;
  if (name === 'email' && !(Object.hasOwn(claims, 'email_verified') && claims.email_verified === true)) {
    throw unusable(
      'claim "email" not available: the issuer has not verified it ("email_verified" is not true)',
    );
  }
  return claims[name];
}

/** @throws StatusError IdentityUnusable where the claim is anything but a string */
export function stringClaim(claims: JSONObject, name: string): string | undefined {
  const value = claimOf(claims, name);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw unusable(`claim ${quoted(name)} is no string`);
  return value;
}

/** @throws StatusError IdentityUnusable where the claim is neither a string nor an array of strings */
export function stringsClaim(claims: JSONObject, name: string): readonly string[] {
  const value = claimOf(claims, name);
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((member) => typeof member === 'string')) return value;
  throw unusable(`claim ${quoted(name)} is neither a string nor a list of strings`);
}

/**
 * The claim that names the user.
 *
 * @throws StatusError IdentityUnusable where there is none to be had
 */
export function usernameClaim(claims: JSONObject, name: string): string {
  const value = claimOf(claims, name);
  if (typeof value !== 'string' || value === '') {
    throw unusable(
      `username claim not available: the token's ${quoted(name)} is missing, empty or no string`,
    );
  }
  // Two at signs: which of them the domain follows is read differently by different programs.
  if (name === 'email' && value.split('@').length !== 2) {
    throw unusable('username claim not available: the token\'s "email" is no plain e-mail address');
  }
  return value;
}

/** @throws StatusError IdentityUnusable for an empty value, one with control characters, or with blanks at its ends */
export function requirePrintable(value: string, claim: string): string {
  return requirePrintableText(value, `claim ${quoted(claim)}`);
}

/** @throws StatusError IdentityReserved for a name that only the cluster, Keystone or Stonegate itself may give */
export function requireUnreserved(name: string, claim: string): string {
  return requireUnreservedName(name, `claim ${quoted(claim)}`);
}

function unusable(message: string): StatusError {
  return new StatusError('IdentityUnusable', message);
}

export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** Whether the claim is exactly this string; an unverified e-mail address is none. */
export function claimEquals(claims: JSONObject, name: string, expected: string): boolean {
  return stringMember(claims, name) === expected && claimOf(claims, name) === expected;
}
