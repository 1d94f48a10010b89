/**
 * Compares a password with the stored one, in constant time.
 * https://www.usenix.org/legacy/events/usenix99/provos.html (bcrypt)
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { compare } from '@node-rs/bcrypt';
import type { StoredPassword } from './credentials.ts';

/** bcrypt ignores further bytes, so a longer password is refused. */
const BCRYPT_BYTES = 72;
/** Bounds the cost of hashing. */
const MAX_BYTES = 1_024;

export async function passwordMatches(given: string, stored: StoredPassword): Promise<boolean> {
  const bytes = Buffer.byteLength(given);
  if (bytes > MAX_BYTES) return false;
  return stored.kind === 'plain'
    ? timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', stored.password, 'buffer'))
    : (await compare(given, stored.hash)) && bytes <= BCRYPT_BYTES;
}
