/**
 * Reads single claims of a verified token as kube-apiserver does, and holds what becomes of them to what may be a
 * Kubernetes name. A claim that is not of the expected type is refused, never converted; null is an empty text.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens
 */
import type { JWTStrictness } from '../api/config-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';
import type { JSONObject } from '../lib/json-object.ts';
import { requirePrintableText, requireUnreservedName } from './name-validation.ts';

/** The claims make no user, for kube-apiserver either. The message repeats nothing of the token but names of claims. */
export class UnusableClaims extends Error {}

const MISSING = 'username claim not available: ';
const UNVERIFIED =
  'claim "email" not available: the issuer has not verified it ("email_verified" is not true)';

/**
 * @param before begins the message
 * @throws UnusableClaims if the claim is anything but a string
 */
export function stringClaim(claims: JSONObject, name: string, before = ''): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) return undefined;
  if (value === null) return '';
  if (typeof value !== 'string') throw new UnusableClaims(`${before}claim ${quoted(name)} is no string`);
  return value.toWellFormed();
}

/** @throws UnusableClaims if there is none, or it is anything but a string */
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
 * The claim that names the user. An e-mail address is refused if the issuer says that it is not verified, and, with
 * `strict.verifiedEmail`, unless the issuer says that it is.
 *
 * @throws UnusableClaims if there is none to be had
 */
export function usernameClaim(claims: JSONObject, name: string, strict: JWTStrictness): string {
  const value = stringClaim(claims, name, MISSING);
  if (value === undefined) throw new UnusableClaims(`${MISSING}claim ${quoted(name)} is missing`);
  if (strict.namedUsers && value === '') throw new UnusableClaims(`${MISSING}claim ${quoted(name)} is empty`);
  if (name === 'email') requireVerifiedEmail(claims, value, strict);
  return value;
}

/** @throws UnusableClaims for an e-mail address that the issuer did not verify: any user may have entered it */
export function requireVerified(claims: JSONObject, name: string): void {
  const verified = Object.hasOwn(claims, 'email_verified') && claims.email_verified === true;
  if (name === 'email' && Object.hasOwn(claims, name) && !verified) throw new UnusableClaims(UNVERIFIED);
}

function requireVerifiedEmail(claims: JSONObject, email: string, strict: JWTStrictness): void {
  const stated = Object.hasOwn(claims, 'email_verified');
  if (stated ? claims.email_verified !== true : strict.verifiedEmail) throw new UnusableClaims(UNVERIFIED);
  // Two at signs: which of them the domain follows is read differently by different programs.
  if (strict.verifiedEmail && email.split('@').length !== 2)
    throw new UnusableClaims(`${MISSING}the token's "email" is no plain e-mail address`);
}

/** @throws StatusError IdentityUnusable for half a character, also in a name: replaced, two texts would become one */
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

/** @throws StatusError IdentityUnusable for an empty value, one with control characters, or with blanks at its ends */
export function requirePrintable(value: string, claim: string): string {
  return requirePrintableText(value, `claim ${quoted(claim)}`);
}

/** @throws StatusError IdentityReserved for a name that only the cluster, Keystone or Stonegate itself may give */
export function requireUnreserved(name: string, claim: string): string {
  return requireUnreservedName(name, `claim ${quoted(claim)}`);
}

export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** What has no equivalent at kube-apiserver. */
export function unusable(message: string): StatusError {
  return new StatusError('IdentityUnusable', message);
}
