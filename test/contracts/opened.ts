/**
 * Opens what Stonegate has sealed without using Stonegate’s own code, so that a simultaneous change of
 * sealing and opening is noticed: keys by HKDF-SHA256 (RFC 5869), names by HMAC-SHA256, values by
 * AES-256-GCM.
 */
import { createDecipheriv, createHmac, hkdfSync } from 'node:crypto';

const derived = (secret: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `stonegate cache v1 ${purpose}`, 32));

/** Each part preceded by its length, so that different lists become different bytes. */
function framed(parts: readonly string[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(part));
      return [length, Buffer.from(part)];
    }),
  );
}

/** The name or proof of `parts`, base64url. */
export function macOf(secret: Buffer, parts: readonly string[]): string {
  return createHmac('sha256', derived(secret, 'mac')).update(framed(parts)).digest('base64url');
}

/** @throws Error if the value was not sealed with this secret for this context */
export function opened(secret: Buffer, sealed: Buffer, context: readonly string[]): string {
  const cipher = createDecipheriv('aes-256-gcm', derived(secret, 'seal'), sealed.subarray(1, 13));
  cipher.setAAD(framed([String(sealed[0]), ...context]));
  cipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(13, -16)), cipher.final()]).toString();
}
