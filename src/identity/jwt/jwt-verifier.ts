/**
 * Verifies a JWT as kube-apiserver does (signature, audience, lifetime), and what Stonegate's own issuer
 * configuration checks in addition. Only asymmetric signatures are accepted: with a shared secret, every
 * verifier could also sign.
 * RFC 7515 §5.2; RFC 7518 §3; RFC 7519 §4.1 and §7.2; RFC 8725 §3; OpenID Connect Core 1.0 §3.1.3.7.
 */
import { constants, createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { unauthorized } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { KeySet } from '../ports.ts';
import type { JWTConfiguration } from './jwt-configuration.ts';
import { type JWTParts, type RegisteredClaims, stringMember } from './jwt-parser.ts';

const ALGORITHMS = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** ID tokens and access tokens. Logout tokens, DPoP proofs and others are signed with the same keys. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt']);
/** Google issues tokens with and without the scheme in `iss`. */
const GOOGLE = 'https://accounts.google.com';

export interface VerifiedJWT {
  readonly claims: JSONObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Distributed claims: name of the claim → the claim source that the token names. */
  readonly elsewhere: Readonly<Record<string, JSONObject>>;
}

/** Verifies with the issuer's keys. @throws StatusError CredentialInvalid; the reason is only in its cause */
export type VerifyJWT = (parts: JWTParts, keys: KeySet) => VerifiedJWT;

/** The URL of the issuer that the token names. */
export function issuerOf({ issuer }: JWTParts): string {
  return issuer === 'accounts.google.com' ? GOOGLE : issuer;
}

/** @throws Error if the configuration permits no asymmetric algorithm */
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

/** The clock tolerance applies to `nbf`, not to `exp`. */
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

type JSONWebKey = KeySet['keys'][number];

/** Go refuses shorter RSA keys. */
const MIN_MODULUS = 1_024;
const CURVES: Readonly<Record<string, number>> = { prime256v1: 32, secp384r1: 48, secp521r1: 66 };
/** Bytes of each half (r, s) of a signature. */
const ECDSA_HALVES: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

function isSignedBy({ keys }: KeySet, parts: JWTParts): boolean {
  const algorithm = stringMember(parts.header, 'alg') ?? '';
  const kid = stringMember(parts.header, 'kid') ?? '';
  return keys.some((key) => (kid === '' || key.kid === kid) && isSignedWith(key, algorithm, parts));
}

/** Checks header fields that go-jose parses into typed fields: another type is an error there. */
function hasUsableHeader(header: JSONObject): boolean {
  for (const name of ['alg', 'kid', 'nonce'])
    if (Object.hasOwn(header, name) && header[name] !== null && typeof header[name] !== 'string')
      return false;
  return hasKnownCritical(header) && hasPublicKey(header) && hasCertificates(header);
}

/** RFC 7515 §4.1.11: `b64` is the only supported critical extension. */
function hasKnownCritical(header: JSONObject): boolean {
  const critical = Object.hasOwn(header, 'crit') ? header.crit : null;
  if (critical === null) return true;
  return Array.isArray(critical) && critical.every((name) => name === 'b64');
}

/** A `jwk` in the header is never trusted, but must be well-formed. */
function hasPublicKey(header: JSONObject): boolean {
  const key = Object.hasOwn(header, 'jwk') ? header.jwk : null;
  if (key === null) return true;
  return isJSONObject(key) && !Object.hasOwn(key, 'd') && publicKeyOf(key) !== undefined;
}

function hasCertificates(header: JSONObject): boolean {
  const chain = Object.hasOwn(header, 'x5c') ? header.x5c : null;
  return chain === null || (Array.isArray(chain) && chain.every(isCertificate));
}

function isCertificate(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return new X509Certificate(Buffer.from(value, 'base64')).raw.length > 0;
  } catch {
    return false;
  }
}

const keyObject = memoizeByReference((key: JSONWebKey): { readonly key: KeyObject | undefined } => ({
  key: publicKeyOf({ ...key }),
}));

function publicKeyOf(key: JSONObject): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...key }, format: 'jwk' });
  } catch {
    // No signature verifies with an invalid key.
    return undefined;
  }
}

function isSignedWith(jwk: JSONWebKey, algorithm: string, { signed, signature }: JWTParts): boolean {
  const { key } = keyObject(jwk);
  const hash = `sha${algorithm.slice(2)}`;
  if (key === undefined) return false;
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return isSignedByRSA(key, algorithm, hash, signed, signature);
    case 'ec':
      return isSignedByEC(key, algorithm, hash, signed, signature);
    case 'ed25519':
      return /^(?:EdDSA|Ed25519)$/.test(algorithm) && verify(null, signed, key, signature);
    default:
      return false;
  }
}

function isSignedByRSA(
  key: KeyObject,
  algorithm: string,
  hash: string,
  signed: Buffer,
  signature: Buffer,
): boolean {
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_MODULUS) return false;
  if (/^RS(?:256|384|512)$/.test(algorithm)) return verify(hash, signed, key, signature);
  const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  return /^PS(?:256|384|512)$/.test(algorithm) && verify(hash, signed, pss, signature);
}

/** The length of the halves follows from the algorithm, not from the key's curve. */
function isSignedByEC(
  key: KeyObject,
  algorithm: string,
  hash: string,
  signed: Buffer,
  signature: Buffer,
): boolean {
  const half = ECDSA_HALVES[algorithm];
  const size = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (half === undefined || size === undefined || signature.length !== 2 * half) return false;
  const halves = [signature.subarray(0, half), signature.subarray(half)].map((each) => resized(each, size));
  const known = halves.filter((each) => each !== undefined);
  if (known.length < 2) return false;
  return verify(hash, signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(known));
}

/** Pads or trims a big-endian number to `size` bytes; undefined if it does not fit. */
function resized(number: Buffer, size: number): Buffer | undefined {
  if (number.length <= size) return Buffer.concat([Buffer.alloc(size - number.length), number]);
  const excess = number.length - size;
  return number.subarray(0, excess).every((byte) => byte === 0) ? number.subarray(excess) : undefined;
}
