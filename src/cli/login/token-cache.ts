/**
 * Tokens between one kubectl call and the next: a file for each identity, readable by its owner alone. A file that
 * others could read or have written is refused, not mended: its token may be known or not ours. So is what is no file,
 * such as a pipe, at which kubectl would wait for ever. A new one is written beside the old and renamed over it, so that
 * nobody ever reads half of it.
 * https://specifications.freedesktop.org/basedir-spec/latest/
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { LoginError, type ObtainedCredential } from './credential-source.ts';

/** Milliseconds before its end at which a token is renewed, and the part of a short one's life. */
const RENEW_AHEAD = 5 * 60_000;
const RENEW_FRACTION = 0.1;

/** Neither through a link nor waiting for the other end of a pipe; Windows knows neither. */
const READ_DIRECTLY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_ANYTHING = 0o077;

export interface CachedCredential extends ObtainedCredential {
  /** Milliseconds since the epoch. */
  readonly obtainedAt: number;
}

export interface TokenCache {
  /** Of this identity. What else belongs to it lies beside it, with more after the name. */
  readonly file: string;
  /**
   * @returns undefined where there is none, or nothing that can be understood
   * @throws LoginError where the file is not the person's alone, or is no regular file
   */
  read(): Promise<CachedCredential | undefined>;
  write(credential: CachedCredential): Promise<void>;
}

/** When to log in again: ahead of the end, so that no request begins with a token that ends under it. */
export function renewAt({ obtainedAt, expiresAt }: CachedCredential): number {
  return expiresAt - Math.min(RENEW_AHEAD, (expiresAt - obtainedAt) * RENEW_FRACTION);
}

/** @param given of `--cache-dir` */
export function cacheFolder(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string {
  // A kubeconfig hands it over without a shell in between.
  if (given !== undefined) return resolve(given.replace(/^~(?=\/)/, env.HOME || homedir()));
  const base = env.XDG_CACHE_HOME ?? '';
  // A relative one is to be ignored, says the specification.
  return join(isAbsolute(base) ? base : join(homedir(), '.cache'), 'stonegate');
}

/**
 * @param identity what tells one token from another, and no secret
 * @throws LoginError where the folder cannot be used, or others may write to it
 */
export async function openTokenCache(folder: string, identity: readonly string[]): Promise<TokenCache> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(failed(`cannot make the folder ${folder}`));
  const reason = distrust(await stat(folder), OTHERS_MAY_WRITE);
  if (reason !== undefined) throw new LoginError(`the folder ${folder} ${reason}: not used for tokens`);
  const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
  const file = join(folder, `${name}.json`);
  return {
    file,
    async read() {
      const text = await readOwn(file);
      return text === undefined ? undefined : understand(text, identity);
    },
    async write(credential) {
      const next = `${file}.${randomBytes(6).toString('hex')}`;
      try {
        await writeFile(next, JSON.stringify({ identity, ...credential }), { mode: 0o600, flag: 'wx' });
        await rename(next, file);
      } catch (error) {
        await rm(next, { force: true });
        throw failure(`cannot write the token to ${file}`, error);
      }
    },
  };
}

async function readOwn(file: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, READ_DIRECTLY);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw failure(`cannot read the cached token ${file}`, error);
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new LoginError(`the cached token ${file} is no regular file: delete it`);
    const reason = distrust(stats, OTHERS_MAY_ANYTHING);
    if (reason !== undefined) {
      throw new LoginError(`the cached token ${file} ${reason}: delete it, and think of its token as known`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** @returns why; undefined where it can be trusted, and on Windows, which has other means */
function distrust(stats: Stats, forbidden: number): string | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  if (stats.uid !== own) return 'belongs to somebody else';
  if ((stats.mode & forbidden) === 0) return undefined;
  return `is open to others (mode ${(stats.mode & 0o777).toString(8)})`;
}

function understand(text: string, identity: readonly string[]): CachedCredential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Of another version, or of a disk that was full: as good as none.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const { token, expiresAt, obtainedAt, refreshToken } = fields;
  if (JSON.stringify(fields.identity) !== JSON.stringify(identity)) return undefined;
  if (typeof token !== 'string' || typeof expiresAt !== 'number' || typeof obtainedAt !== 'number')
    return undefined;
  return { token, expiresAt, obtainedAt, ...(typeof refreshToken === 'string' && { refreshToken }) };
}

function failed(what: string): (error: unknown) => never {
  return (error) => {
    throw failure(what, error);
  };
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'you may not',
  EPERM: 'you may not',
  EROFS: 'its file system can only be read',
  ENOSPC: 'the disk is full',
  EEXIST: 'there is a file of this name',
  ENOTDIR: 'something on its way is no folder',
  ELOOP: 'a link leads there',
};

/** What else the system says is told by its code: its own words repeat the name. */
function failure(what: string, error: unknown): LoginError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new LoginError(`${what}: ${REASONS[code] ?? code}`);
}
