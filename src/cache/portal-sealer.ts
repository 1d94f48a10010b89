/**
 * Seals what the portal gives browsers to keep, and vouches for its forms: with the keys that seal the cache, so that
 * all replicas can read it, or with one of this process alone.
 */
import type { Random } from '../lib/random.ts';
import type { Sealer } from '../portal/ports.ts';
import { createSealingKey } from './sealing-key.ts';

const CONTEXT = 'portal';
const KEY_BYTES = 32;

/** @param secrets 32 bytes each: the first seals, all open; without any, one is made that dies with the process */
export function createPortalSealer(secrets: readonly Buffer[], random: Random): Sealer {
  const keys = (secrets.length === 0 ? [random.bytes(KEY_BYTES)] : secrets).map((secret) =>
    createSealingKey(secret, random),
  );
  const [first] = keys;
  if (first === undefined) throw new RangeError('the portal needs a sealing key');
  return {
    seal: (text, purpose) => first.seal(text, [CONTEXT, purpose]).toString('base64url'),
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of keys) {
        const text = key.open(bytes, [CONTEXT, purpose]);
        if (text !== undefined) return text;
      }
      return undefined;
    },
    mac: (parts) => first.mac(CONTEXT, parts),
    verify: (mac, parts) => keys.some((key) => key.verify(mac, CONTEXT, parts)),
  };
}
