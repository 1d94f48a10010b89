/**
 * Whether a JWS is signed by one of an issuer's keys, as kube-apiserver's library decides it: the token's `kid` chooses
 * among the keys if there is one, else any may have signed, and a key's kind says which algorithms it may be used with.
 * RFC 7515 §5.2; RFC 7518 §3.
 */
import { constants, createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { KeySet } from './issuer-keys.ts';
import { type JWTParts, stringMember } from './jwt-parts.ts';

type JSONWebKey = KeySet['keys'][number];

/** Go verifies with no shorter one. */
const MIN_MODULUS = 1_024;
const CURVES: Readonly<Record<string, number>> = { prime256v1: 32, secp384r1: 48, secp521r1: 66 };
/** Of each half of a signature. */
const ECDSA_HALVES: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

export function isSignedBy({ keys }: KeySet, parts: JWTParts): boolean {
  const algorithm = stringMember(parts.header, 'alg') ?? '';
  const kid = stringMember(parts.header, 'kid') ?? '';
  return keys.some((key) => (kid === '' || key.kid === kid) && isSignedWith(key, algorithm, parts));
}

/** What of the header would be no error, but for Go's types. */
export function hasUsableHeader(header: JSONObject): boolean {
  for (const name of ['alg', 'kid', 'nonce'])
    if (Object.hasOwn(header, name) && header[name] !== null && typeof header[name] !== 'string')
      return false;
  return hasKnownCritical(header) && hasPublicKey(header) && hasCertificates(header);
}

/** Only `b64` may be critical. */
function hasKnownCritical(header: JSONObject): boolean {
  const critical = Object.hasOwn(header, 'crit') ? header.crit : null;
  if (critical === null) return true;
  return Array.isArray(critical) && critical.every((name) => name === 'b64');
}

/** A key in the header is not trusted, but must be well-formed. */
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
    // An invalid key has signed nothing.
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

/** The halves are as long as the algorithm has them, whatever the curve of the key. */
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

/** A number of other size; undefined if it is too large. */
function resized(number: Buffer, size: number): Buffer | undefined {
  if (number.length <= size) return Buffer.concat([Buffer.alloc(size - number.length), number]);
  const excess = number.length - size;
  return number.subarray(0, excess).every((byte) => byte === 0) ? number.subarray(excess) : undefined;
}
