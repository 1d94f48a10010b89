/**
 * Reads single claims of a verified token as kube-apiserver does. A claim of an unexpected type is refused,
 * never converted; null is an empty string.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens
 */

import { StatusError } from '../../errors/status-error.ts';
import { isJSONObject, type JSONObject, ownValue } from '../../lib/json-object.ts';
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
  const value = ownValue(claims, name);
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
  const value = ownValue(claims, name) ?? null;
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
  if (value === '') throw new UnusableClaims(`${MISSING}claim ${quoted(name)} is empty`);
  if (name === 'email') requireVerifiedEmail(claims, value, strict);
  return value;
}

/** @throws UnusableClaims for an unverified e-mail address, which the user may have entered themselves */
export function requireVerified(claims: JSONObject, name: string): void {
  const verified = ownValue(claims, 'email_verified') === true;
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

/**
 * Refuses a token whose groups are elsewhere (distributed claims, Entra ID's group overage): Stonegate sends
 * no request to an address that a token names, and without its groups a user would lose rights at random.
 * OpenID Connect Core 1.0 §5.6.2;
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference#groups-overage-claim
 *
 * @param strict whether any hint counts, even if the token also has groups
 * @throws StatusError GroupsOverflow
 */
export function requireCompleteGroups(claims: JSONObject, claim: string, strict: boolean): void {
  const names = ownValue(claims, '_claim_names');
  const distributed = isJSONObject(names) && Object.hasOwn(names, claim);
  const hint = ownValue(claims, 'hasgroups');
  const hinted = claim === 'groups' && (hint === true || hint === 'true');
  if (strict ? !distributed && !hinted : !distributed || Object.hasOwn(claims, claim)) return;
  throw new StatusError(
    'GroupsOverflow',
    `your groups do not fit into the token, which only says where else to find them: ask the administrator of the issuer to send only groups assigned to the application, or application roles instead of ${quoted(claim)}`,
  );
}

export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** A refusal that kube-apiserver does not have. */
export function unusable(message: string): StatusError {
  return new StatusError('IdentityUnusable', message);
}
