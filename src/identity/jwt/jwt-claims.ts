/**
 * Reads single claims of a verified token as kube-apiserver does. A claim of an unexpected type is refused,
 * never converted; null is an empty string.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens
 */

import { StatusError } from '../../errors/status-error.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { requirePrintableText, requireUnreservedName } from '../name-validation.ts';
import type { JWTStrictness } from './jwt-configuration.ts';

/**
 * kube-apiserver would refuse these claims too. The message contains names of claims only, nothing else of
 * the token.
 */
export class UnusableClaims extends Error {}

const MISSING = 'username claim not available: ';
const UNVERIFIED =
  'claim "email" not available: the issuer has not verified it ("email_verified" is not true)';

/**
 * @param before prefix of the message
 * @throws UnusableClaims if the claim is not a string
 */
export function stringClaim(claims: JSONObject, name: string, before = ''): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) return undefined;
  if (value === null) return '';
  if (typeof value !== 'string') throw new UnusableClaims(`${before}claim ${quoted(name)} is no string`);
  return value.toWellFormed();
}

/** @throws UnusableClaims if the claim is missing or not a string */
export function requiredClaim(claims: JSONObject, name: string): string {
  const value = stringClaim(claims, name);
  if (value === undefined) throw new UnusableClaims(`claim ${quoted(name)} is missing`);
  return value;
}

/** @throws UnusableClaims if the claim is neither a string nor an array of strings */
export function stringsClaim(claims: JSONObject, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : null;
  if (value === null) return [];
  if (typeof value === 'string') return [value.toWellFormed()];
  const members: readonly unknown[] = Array.isArray(value) ? value : [undefined];
  return members.map((member) => {
    if (member === null) return '';
    if (typeof member === 'string') return member.toWellFormed();
    throw new UnusableClaims(`claim ${quoted(name)} is neither a string nor a list of strings`);
  });
}

/**
 * The claim that names the user. An e-mail address is refused if `email_verified` is not true, and with
 * `strict.verifiedEmail` also if that claim is missing.
 *
 * @throws UnusableClaims if there is no usable value
 */
export function usernameClaim(claims: JSONObject, name: string, strict: JWTStrictness): string {
  const value = stringClaim(claims, name, MISSING);
  if (value === undefined) throw new UnusableClaims(`${MISSING}claim ${quoted(name)} is missing`);
  if (strict.namedUsers && value === '') throw new UnusableClaims(`${MISSING}claim ${quoted(name)} is empty`);
  if (name === 'email') requireVerifiedEmail(claims, value, strict);
  return value;
}

/** @throws UnusableClaims for an unverified e-mail address, which the user may have entered themselves */
export function requireVerified(claims: JSONObject, name: string): void {
  const verified = Object.hasOwn(claims, 'email_verified') && claims.email_verified === true;
  if (name === 'email' && Object.hasOwn(claims, name) && !verified) throw new UnusableClaims(UNVERIFIED);
}

function requireVerifiedEmail(claims: JSONObject, email: string, strict: JWTStrictness): void {
  const stated = Object.hasOwn(claims, 'email_verified');
  if (stated ? claims.email_verified !== true : strict.verifiedEmail) throw new UnusableClaims(UNVERIFIED);
  // With two at signs, programs disagree about which one the domain follows.
  if (strict.verifiedEmail && email.split('@').length !== 2)
    throw new UnusableClaims(`${MISSING}the token's "email" is no plain e-mail address`);
}

/**
 * @throws StatusError IdentityUnusable for a lone surrogate in a name or value: replacing it would make two
 *   different texts equal
 */
export function requireWholeCharacters(claims: JSONObject): void {
  const rest: unknown[] = [claims];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string' && !value.isWellFormed())
      throw unusable('the token cannot be used: it has half a character in a claim');
    if (typeof value === 'object' && value !== null)
      rest.push(...Object.keys(value), ...Object.values(value));
  }
}

/** @throws StatusError IdentityUnusable for an empty value, control characters, or blanks at either end */
export function requirePrintable(value: string, claim: string): string {
  return requirePrintableText(value, `claim ${quoted(claim)}`);
}

/**
 * @throws StatusError IdentityReserved for a name that only the cluster, Keystone or Stonegate itself may
 *   give
 */
export function requireUnreserved(name: string, claim: string): string {
  return requireUnreservedName(name, `claim ${quoted(claim)}`);
}

export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** A refusal that kube-apiserver does not have. */
export function unusable(message: string): StatusError {
  return new StatusError('IdentityUnusable', message);
}
