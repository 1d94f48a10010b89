/**
 * How a password may stand in a basic-auth file: as it is, or as a bcrypt or scrypt hash. What looks like a hash of
 * another kind is refused: taken for a password, the hash itself would be one.
 * https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */
import type { StoredPassword } from '../api/credentials.ts';
import { LINE_PROBLEMS as LINE, type LineProblem, MAX_BCRYPT_COST } from './line-problem.ts';

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const SCRYPT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;
/** A hash's own look: `$6$…`, `{SHA}…`. */
const HASH = /^(?:\$[A-Za-z0-9-]+\$|\{[A-Za-z0-9-]+\})/;
const MAX_SCRYPT_BYTES = 256 * 1024 * 1024;

/** @returns the password, or what is wrong with it */
export function storedPassword(text: string): StoredPassword | LineProblem {
  if (text === '') return LINE.noPassword;
  const bcrypt = BCRYPT.exec(text);
  if (bcrypt !== null) {
    const cost = Number(bcrypt[1]);
    if (cost < 4 || cost > MAX_BCRYPT_COST) return LINE.bcryptCost;
    return { kind: 'bcrypt', hash: text };
  }
  const scrypt = SCRYPT.exec(text);
  if (scrypt !== null) return scryptPassword(scrypt.slice(1));
  if (HASH.test(text)) return LINE.unknownHash;
  return { kind: 'plain', password: text };
}

function scryptPassword([ln, r, p, salt = '', hash = '']: readonly string[]): StoredPassword | LineProblem {
  const cost = 2 ** Number(ln);
  const blockSize = Number(r);
  const parallelization = Number(p);
  const fits = cost > 1 && blockSize > 0 && parallelization > 0 && parallelization <= 16;
  if (!fits || 128 * cost * blockSize > MAX_SCRYPT_BYTES) {
    return LINE.scryptParameters;
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
