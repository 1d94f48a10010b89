/**
 * How a password may stand in a basic-auth file: as it is, or as a bcrypt or scrypt hash. What looks like a hash of
 * another kind is refused: taken for a password, the hash itself would be one.
 * https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */
import type { StoredPassword } from '../api/static-user.ts';

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const SCRYPT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;
/** A hash's own look: `$6$…`, `{SHA}…`. */
const HASH = /^(?:\$[A-Za-z0-9-]+\$|\{[A-Za-z0-9-]+\})/;
/** 2^17 rounds take some ten seconds. */
const MAX_BCRYPT_COST = 17;
const MAX_SCRYPT_BYTES = 256 * 1024 * 1024;

/** @returns the password, or what is wrong with it in words that do not repeat it */
export function storedPassword(text: string): StoredPassword | string {
  if (text === '') return 'expected a password, found none';
  const bcrypt = BCRYPT.exec(text);
  if (bcrypt !== null) {
    const cost = Number(bcrypt[1]);
    if (cost < 4 || cost > MAX_BCRYPT_COST) return `expected a bcrypt cost from 4 to ${MAX_BCRYPT_COST}`;
    return { kind: 'bcrypt', hash: text };
  }
  const scrypt = SCRYPT.exec(text);
  if (scrypt !== null) return scryptPassword(scrypt.slice(1));
  if (HASH.test(text)) {
    return 'expected a password, a bcrypt hash ($2b$…) or a scrypt hash ("$scrypt$ln=…,r=…,p=…$salt$hash", in quotation marks for its commas), found a hash of another kind, or a broken one';
  }
  return { kind: 'plain', password: text };
}

function scryptPassword([ln, r, p, salt = '', hash = '']: readonly string[]): StoredPassword | string {
  const cost = 2 ** Number(ln);
  const blockSize = Number(r);
  const parallelization = Number(p);
  const fits = cost > 1 && blockSize > 0 && parallelization > 0 && parallelization <= 16;
  if (!fits || 128 * cost * blockSize > MAX_SCRYPT_BYTES) {
    return 'expected scrypt parameters that take at most 256 MiB, and a p of at most 16';
  }
  return {
    kind: 'scrypt',
    cost,
    blockSize,
    parallelization,
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}
