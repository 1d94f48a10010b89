/**
 * Whether a JWT is genuine, meant for us and alive, as kube-apiserver decides it, and what Stonegate's own form of an
 * issuer may refuse beyond that. Asymmetric signatures only: with a shared secret every party that can verify could
 * also sign.
 * RFC 7519 §4.1 and §7.2; RFC 8725 §3; OpenID Connect Core 1.0 §3.1.3.7.
 */
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { KeySet } from './issuer-keys.ts';
import { type JWTParts, type RegisteredClaims, stringMember } from './jwt-parts.ts';
import { hasUsableHeader, isSignedBy } from './jwt-signature.ts';

const ALGORITHMS = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** An ID token or an access token; a logout token, a DPoP proof and others are signed by the same keys. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt']);
/** Google has left out the scheme of its own name. */
const GOOGLE = 'https://accounts.google.com';

export interface VerifiedJWT {
  readonly claims: JSONObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Claims that are not in the token, by where it says to find them. */
  readonly elsewhere: Readonly<Record<string, JSONObject>>;
}

/** Verifies with the issuer's keys. @throws StatusError CredentialInvalid, bare: the reason is only in its cause */
export type VerifyJWT = (parts: JWTParts, keys: KeySet) => VerifiedJWT;

/** The URL of the issuer that the token names. */
export function issuerOf({ issuer }: JWTParts): string {
  return issuer === 'accounts.google.com' ? GOOGLE : issuer;
}

/** @throws Error if the configuration allows no algorithm that may be used */
export function createJWTVerifier(configuration: JWTConfiguration, clock: Clock): VerifyJWT {
  const { issuer, strict, clockTolerance } = configuration;
  const algorithms = configuration.algorithms.filter((name) => ALGORITHMS.test(name));
  if (algorithms.length === 0) throw new Error(`no asymmetric algorithm is allowed for ${issuer.url}`);

  return (parts, keys) => {
    const now = clock.now();
    const { registered, header } = parts;
    if (!parts.unambiguousHeader || (strict.uniqueMembers && !parts.unambiguous))
      throw unauthorized('the token names a member twice');
    if (registered === undefined) throw unauthorized('a registered claim of the token is of another type');
    if (!algorithms.includes(stringMember(header, 'alg') ?? ''))
      throw unauthorized('the token is signed with another algorithm');
    if (!hasUsableHeader(header)) throw unauthorized('the header of the token cannot be used');
    if (!isSignedBy(keys, parts)) throw unauthorized('the signature of the token is of no key of the issuer');
    if (!issuer.audiences.some((audience) => registered.audiences.includes(audience)))
      throw unauthorized('the token is meant for another audience');
    const expiresAt = expiryOf(registered, now, clockTolerance);
    if (strict.tokenTypes) refuseOtherTypes(parts);
    if (strict.authorizedParty) refuseForeignParty(parts.payload, issuer.audiences);
    return {
      claims: parts.payload,
      expiresAt,
      elsewhere: configuration.asKubernetes ? claimsElsewhere(registered) : {},
    };
  };
}

/** `exp` is exact; the tolerance concerns `nbf` alone. */
function expiryOf({ expiry, notBefore }: RegisteredClaims, now: number, tolerance: number): number {
  const expiresAt = Math.min((expiry ?? Number.NEGATIVE_INFINITY) * 1_000, Number.MAX_SAFE_INTEGER);
  if (expiresAt <= now) throw unauthorized('the token has expired');
  if (notBefore !== undefined && now + tolerance < notBefore * 1_000)
    throw unauthorized('the token is not valid yet');
  return expiresAt;
}

function refuseOtherTypes({ header, payload }: JWTParts): void {
  const typ = Object.hasOwn(header, 'typ') ? header.typ : undefined;
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (type !== undefined && (typeof type !== 'string' || !TYPES.has(type)))
    throw unauthorized('the token is of another type');
  // OpenID Connect Back-Channel Logout 1.0 §2.4: a logout token need not say so in its type.
  if (Object.hasOwn(payload, 'events')) throw unauthorized('the token tells of an event, not of a user');
}

/** With several audiences, the party the token was made for must be one of ours, if the token names it. */
function refuseForeignParty(payload: JSONObject, audiences: readonly string[]): void {
  if (!Array.isArray(payload.aud) || payload.aud.length < 2 || !Object.hasOwn(payload, 'azp')) return;
  const party = stringMember(payload, 'azp');
  if (party === undefined || !audiences.includes(party))
    throw unauthorized('the token was made for another party');
}

/** OpenID Connect Core 1.0 §5.6.2. */
function claimsElsewhere({
  claimNames,
  claimSources,
}: RegisteredClaims): Readonly<Record<string, JSONObject>> {
  return Object.fromEntries(
    Object.entries(claimNames).map(([name, source]) => {
      const found = source === '' || !Object.hasOwn(claimSources, source) ? undefined : claimSources[source];
      if (!isJSONObject(found)) throw unauthorized('the token names a claim source that is not in it');
      return [name, found];
    }),
  );
}
