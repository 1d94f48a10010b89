/**
 * Verifies the signature, audience and lifetime of a JWT with jose, and what Stonegate's own issuer
 * configuration checks in addition. Only asymmetric signatures are accepted: with a shared secret, every
 * verifier could also sign.
 * RFC 7515 §5.2; RFC 7519 §4.1 and §7.2; RFC 8725 §3; OpenID Connect Core 1.0 §3.1.3.7.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { errors, type JSONWebKeySet, jwtVerify } from 'jose';
import { unauthorized } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { type JSONObject, ownValue } from '../../lib/json-object.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { JWTConfiguration } from './jwt-configuration.ts';
import { type JWTParts, stringMember } from './jwt-parser.ts';

/** ID tokens and access tokens. Logout tokens, DPoP proofs and others are signed with the same keys. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt']);

export interface VerifiedJWT {
  readonly claims: JSONObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * @param parts of the token
 * @param keys of its issuer
 * @returns undefined if no key verifies the signature
 * @throws StatusError CredentialInvalid; the reason is only in its cause
 */
export type VerifyJWT = (
  token: string,
  parts: JWTParts,
  keys: JSONWebKeySet,
) => Promise<VerifiedJWT | undefined>;

export function createJWTVerifier(configuration: JWTConfiguration, clock: Clock): VerifyJWT {
  const { issuer, strict, clockTolerance, algorithms } = configuration;

  /** @returns the token's `exp` */
  async function verify(token: string, keys: readonly KeyObject[]): Promise<number | undefined> {
    const options = {
      algorithms: [...algorithms],
      audience: [...issuer.audiences],
      requiredClaims: ['exp'],
      currentDate: new Date(clock.now()),
      clockTolerance: clockTolerance / 1_000,
    };
    for (const key of keys) {
      try {
        const { payload } = await jwtVerify(token, key, options);
        return payload.exp ?? 0;
      } catch (error) {
        // jose checks the claims after the signature; all other errors may be those of a wrong key.
        if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
          throw unauthorized(error.message);
      }
    }
    return undefined;
  }

  return async (token, parts, { keys }) => {
    if (!parts.unambiguous) throw unauthorized('the token names a member twice');
    const kid = stringMember(parts.header, 'kid') ?? '';
    const candidates = keys.filter((key) => kid === '' || key.kid === kid).flatMap(publicKeyOf);
    const exp = await verify(token, candidates);
    if (exp === undefined) return undefined;
    // The clock tolerance applies to `nbf` only.
    const expiresAt = Math.min(exp * 1_000, Number.MAX_SAFE_INTEGER);
    if (expiresAt <= clock.now()) throw unauthorized('the token has expired');
    // JavaScript reads 1e400 as infinite: a token with such an end would never expire. Go refuses it.
    if (!Number.isFinite(exp)) throw unauthorized('the end of the token is no time');
    if (strict.tokenTypes) refuseOtherTypes(parts);
    if (strict.authorizedParty) refuseForeignParty(parts.payload, issuer.audiences);
    return { claims: parts.payload, expiresAt };
  };
}

function refuseOtherTypes({ header, payload }: JWTParts): void {
  const typ = ownValue(header, 'typ');
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (type !== undefined && (typeof type !== 'string' || !TYPES.has(type)))
    throw unauthorized('the token is of another type');
  // OpenID Connect Back-Channel Logout 1.0 §2.4: a logout token may have no `typ`.
  if (Object.hasOwn(payload, 'events')) throw unauthorized('the token tells of an event, not of a user');
}

/**
 * OpenID Connect Core 1.0 §3.1.3.7: with several audiences, `azp` must be one of the configured audiences,
 * if it is there.
 */
function refuseForeignParty(payload: JSONObject, audiences: readonly string[]): void {
  if (!Array.isArray(payload.aud) || payload.aud.length < 2 || !Object.hasOwn(payload, 'azp')) return;
  const party = stringMember(payload, 'azp');
  if (party === undefined || !audiences.includes(party))
    throw unauthorized('the token was issued for another party');
}

/** Empty for an invalid key, with which no signature can be verified. */
const publicKeyOf = memoizeByReference((key: JSONWebKeySet['keys'][number]): readonly KeyObject[] => {
  try {
    return [createPublicKey({ key: { ...key }, format: 'jwk' })];
  } catch {
    return [];
  }
});
