/**
 * Whether a JWT is genuine, meant for us and alive. Asymmetric signatures only: a shared secret would let everybody
 * who can verify also sign. `exp` is exact, as for the API server itself; the tolerance for clocks that differ
 * concerns `nbf` alone, since a token a moment early does less harm than one that outlives its end.
 * RFC 7519 §4.1 and §7.2; RFC 8725 §3; OpenID Connect Core 1.0 §3.1.3.7.
 */
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWTConfiguration } from '../api/config-v1alpha1.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { JSONObject } from '../lib/json-object.ts';
import type { KeySet } from './issuer-keys.ts';
import { type JWTParts, stringMember } from './jwt-parts.ts';

const ALGORITHMS = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** An ID token or an access token; a logout token, a DPoP proof and others are signed by the same keys. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt']);

export interface VerifiedJWT {
  readonly claims: JSONObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * @param keys of the issuer
 * @throws StatusError CredentialInvalid, bare: the reason is only in its cause
 */
export type VerifyJWT = (token: string, parts: JWTParts, keys: KeySet) => Promise<VerifiedJWT>;

/** @throws Error where the configuration allows no algorithm that may be used */
export function createJWTVerifier(configuration: JWTConfiguration, clock: Clock): VerifyJWT {
  const { issuer, clockTolerance } = configuration;
  const algorithms = configuration.algorithms.filter((name) => ALGORITHMS.test(name));
  if (algorithms.length === 0) throw new Error(`no asymmetric algorithm is allowed for ${issuer.url}`);
  const resolvers = new WeakMap<KeySet, ReturnType<typeof createLocalJWKSet>>();

  function resolverOf(keys: KeySet): ReturnType<typeof createLocalJWKSet> {
    const known = resolvers.get(keys);
    if (known !== undefined) return known;
    const created = createLocalJWKSet(keys);
    resolvers.set(keys, created);
    return created;
  }

  return async (token, parts, keys) => {
    const now = clock.now();
    refuseUnsuitable(parts);
    const { payload } = await jwtVerify(token, resolverOf(keys), {
      algorithms,
      issuer: issuer.url,
      audience: [...issuer.audiences],
      requiredClaims: ['exp'],
      clockTolerance: clockTolerance / 1_000,
      currentDate: new Date(now),
    }).catch((error: unknown) => {
      throw unauthorized(error instanceof Error ? `${error.name}: ${error.message}` : 'verification failed');
    });
    const expiresAt = Math.min((payload.exp ?? 0) * 1_000, Number.MAX_SAFE_INTEGER);
    if (expiresAt <= now) throw unauthorized('the token has expired');
    refuseForeignParty(payload, issuer.audiences);
    return { claims: payload, expiresAt };
  };
}

/** What may be refused before any key is looked at. */
function refuseUnsuitable({ header, payload, unambiguous }: JWTParts): void {
  if (!unambiguous) throw unauthorized('the token names a member twice');
  if (Object.hasOwn(header, 'crit')) throw unauthorized('the token has critical header parameters');
  const typ = Object.hasOwn(header, 'typ') ? header.typ : undefined;
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (type !== undefined && (typeof type !== 'string' || !TYPES.has(type))) {
    throw unauthorized('the token is of another type');
  }
  // OpenID Connect Back-Channel Logout 1.0 §2.4: a logout token need not say so in its type.
  if (Object.hasOwn(payload, 'events')) throw unauthorized('the token tells of an event, not of a person');
}

/** With several audiences, the party the token was made for must be one of ours, where the token names it. */
function refuseForeignParty(payload: JSONObject, audiences: readonly string[]): void {
  if (!Array.isArray(payload.aud) || payload.aud.length < 2 || !Object.hasOwn(payload, 'azp')) return;
  const party = stringMember(payload, 'azp');
  if (party === undefined || !audiences.includes(party))
    throw unauthorized('the token was made for another party');
}
