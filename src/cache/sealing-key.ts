/**
 * A sealing key computes names and MACs, and seals values. Redis is not trusted: names are HMACs, which
 * reveal nothing and cannot be predicted; values can neither be read, forged, nor moved to another name. HKDF
 * (RFC 5869) derives a key for each purpose; HMAC-SHA256 (RFC 2104); AES-256-GCM with a random nonce (NIST SP
 * 800-38D §8.2.2: at most 2^32 seals per key, 100 years at one per second).
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Random } from '../lib/random.ts';

const KEY_BYTES = 32;
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** Domain separation: a name or MAC for one purpose is invalid for another. */
export type Purpose = 'entry' | 'tag' | 'epoch' | 'portal' | 'rate';

export interface SealingKey {
  /** A name or MAC of `parts`, in base64url. */
  mac(purpose: Purpose, parts: readonly string[]): string;
  verify(mac: string, purpose: Purpose, parts: readonly string[]): boolean;
  /** @param context the additional authenticated data; the text opens only under the same */
  seal(text: string, context: readonly string[]): Buffer;
  /** @returns undefined if this key did not seal it under this context */
  open(sealed: Buffer, context: readonly string[]): string | undefined;
}

/**
 * @param secret 32 random bytes
 * @throws RangeError if the secret has another length
 */
export function createSealingKey(secret: Buffer, random: Random): SealingKey {
  if (secret.length !== KEY_BYTES) throw new RangeError(`a sealing key has 32 bytes, not ${secret.length}`);
  const macKey = derive(secret, 'mac');
  const sealKey = derive(secret, 'seal');

  const digest = (purpose: Purpose, parts: readonly string[]): Buffer =>
    createHmac('sha256', macKey)
      .update(frame([purpose, ...parts]))
      .digest();

  return {
    mac: (purpose, parts) => digest(purpose, parts).toString('base64url'),
    verify(mac, purpose, parts) {
      const given = Buffer.from(mac, 'base64url');
      const right = digest(purpose, parts);
      return given.length === right.length && timingSafeEqual(given, right);
    },
    seal(text, context) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, sealKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(frame([String(VERSION), ...context]));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, body, cipher.getAuthTag()]);
    },
    open(sealed, context) {
      if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) return undefined;
      const decipher = createDecipheriv(CIPHER, sealKey, sealed.subarray(1, 1 + NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(frame([String(VERSION), ...context]));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const head = decipher.update(sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES));
      try {
        return Buffer.concat([head, decipher.final()]).toString('utf8');
      } catch {
        // Node throws if the tag is wrong.
        return undefined;
      }
    },
  };
}

function derive(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `stonegate cache v${VERSION} ${purpose}`, KEY_BYTES));
}

/** Each part is prefixed by its length, so that different lists of parts have different bytes. */
function frame(parts: readonly string[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part, 'utf8');
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}
