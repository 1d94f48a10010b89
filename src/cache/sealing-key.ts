/**
 * What one sealing key does: it names, vouches and seals. Redis is not trusted, neither with secrets nor with the
 * truth: names are HMACs, so that they tell nothing and cannot be foreseen, and values are sealed, so that they
 * can neither be read nor made up, nor moved to another name.
 * HKDF (RFC 5869) derives a key for each purpose; HMAC-SHA256 (RFC 2104); AES-256-GCM with a random nonce
 * (NIST SP 800-38D §8.2.2: at most 2^32 seals per key, a hundred years at one a second).
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Random } from '../lib/random.ts';

const KEY_BYTES = 32;
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** What a name or a seal is for, so that nothing made for one purpose serves another. */
export type Purpose = 'entry' | 'turn' | 'tag' | 'epoch' | 'portal';

export interface SealingKey {
  /** A name or proof for `parts`, base64url. */
  mac(purpose: Purpose, parts: readonly string[]): string;
  verify(mac: string, purpose: Purpose, parts: readonly string[]): boolean;
  /** @param context what the sealed text belongs to; it opens only under the same */
  seal(text: string, context: readonly string[]): Buffer;
  /** @returns undefined for whatever this key did not seal under this context */
  open(sealed: Buffer, context: readonly string[]): string | undefined;
}

/**
 * @param secret 32 random bytes
 * @throws RangeError for a secret of another length
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
        // Node has no other way to say that the tag is wrong.
        return undefined;
      }
    },
  };
}

function derive(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `stonegate cache v${VERSION} ${purpose}`, KEY_BYTES));
}

/** Length before each part: no two lists of parts become the same bytes. */
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
