/**
 * Reads a JSON Web Key Set as far as it may be believed: public keys of asymmetric algorithms that are this
 * issuer's own. Members of kinds nobody here knows are passed over, as RFC 7517 §5 asks.
 */
import type { KeySet } from '../authentication/issuer-keys.ts';
import { isJSONObject } from '../lib/json-object.ts';

type Key = KeySet['keys'][number];

const ASYMMETRIC = new Set(['RSA', 'EC', 'OKP']);

/**
 * @param text the document as fetched
 * @param issuer whose keys they are to be; undefined if it does not matter what a key says of that
 * @returns the set; it may be empty, when an issuer withdraws all its keys
 * @throws Error where the text is no key set
 */
export function parseKeySet(text: string, issuer: string | undefined): KeySet {
  const document: unknown = JSON.parse(text);
  if (!isJSONObject(document) || !Array.isArray(document.keys))
    throw new Error('the answer is no JSON Web Key Set');
  const members: unknown[] = document.keys;
  return {
    keys: members.filter(isPublicKey).filter((key) => issuer === undefined || belongsTo(key, issuer)),
  };
}

function isPublicKey(value: unknown): value is Key {
  if (!isJSONObject(value) || typeof value.kty !== 'string') return false;
  return (
    ASYMMETRIC.has(value.kty) && !('d' in value) && (value.kid === undefined || typeof value.kid === 'string')
  );
}

/**
 * Entra ID serves one set for many tenants and names in each key's `issuer` whose tokens it signs, with
 * `{tenantid}` for "any tenant's". A key for somebody else's tokens must not vouch for ours.
 * https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-signing-key-issuer
 */
function belongsTo(key: Key, issuer: string): boolean {
  const owner: unknown = Object.hasOwn(key, 'issuer') ? Reflect.get(key, 'issuer') : undefined;
  if (typeof owner !== 'string' || owner === issuer) return true;
  const [before, after, ...more] = owner.split('{tenantid}');
  if (before === undefined || after === undefined || more.length > 0) return false;
  const tenant = issuer.slice(before.length, issuer.length - after.length);
  return issuer === `${before}${tenant}${after}` && tenant !== '' && !tenant.includes('/');
}
