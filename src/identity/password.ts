/**
 * Compares a password with the stored one, in constant time.
 * RFC 7914 (scrypt); https://www.usenix.org/legacy/events/usenix99/provos.html (bcrypt)
 */
import { hash, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { compare } from '@node-rs/bcrypt';
import type { StoredPassword } from './credentials.ts';

/** bcrypt ignores further bytes, so a longer password is refused. */
const BCRYPT_BYTES = 72;
/** Bounds the cost of hashing. */
const MAX_BYTES = 1_024;

export async function passwordMatches(given: string, stored: StoredPassword): Promise<boolean> {
  const bytes = Buffer.byteLength(given);
  if (bytes > MAX_BYTES) return false;
  switch (stored.kind) {
    case 'plain':
      return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', stored.password, 'buffer'));
    case 'bcrypt':
      return (await compare(given, stored.hash)) && bytes <= BCRYPT_BYTES;
    case 'scrypt':
      return timingSafeEqual(await derive(given, stored), stored.hash);
  }
}

function derive(given: string, stored: Extract<StoredPassword, { kind: 'scrypt' }>): Promise<Buffer> {
  const { cost, blockSize, parallelization, salt, hash: expected } = stored;
  const options: ScryptOptions = {
    cost,
    blockSize,
    parallelization,
    // What the algorithm needs; Node's own bound is lower.
    maxmem: 128 * blockSize * (cost + parallelization + 2),
  };
  return new Promise((resolve, reject) => {
    scrypt(given, salt, expected.length, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
