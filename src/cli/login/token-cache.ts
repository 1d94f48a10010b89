/**
 * Caches tokens between kubectl calls, one file per identity, readable by its owner only. A file that others
 * can read or write is refused and not repaired, because its token may be known or forged; so is anything
 * but a regular file. Files are replaced by rename.
 * https://specifications.freedesktop.org/basedir-spec/latest/
 */
import { hash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { hasCode, messageOf } from '../../lib/error-code.ts';
import { readJSONObject } from '../../lib/json-object.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { absoluteName } from '../given-file.ts';
import { replaceFile } from '../replace-file.ts';
import { LoginError, type ObtainedCredential } from './credential-source.ts';

/**
 * Milliseconds before expiry at which a token is renewed; for short-lived tokens, the fraction of their
 * lifetime.
 */
const RENEW_AHEAD = 5 * 60_000;
const RENEW_FRACTION = 0.1;

/** Follows no link and does not block on a pipe, on which kubectl would hang; Windows has neither flag. */
const READ_DIRECTLY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_ANYTHING = 0o077;

export interface CachedCredential extends ObtainedCredential {
  /** Milliseconds since the epoch. */
  readonly obtainedAt: number;
}

export interface TokenCache {
  /** The identity's file. Related files have the same name with a suffix. */
  readonly file: string;
  /**
   * @returns undefined if there is no file, or its content is invalid
   * @throws LoginError if others can access the file, or it is not a regular file
   */
  read(): Promise<CachedCredential | undefined>;
  write(credential: CachedCredential): Promise<void>;
  remove(): Promise<void>;
}

/** When to renew: before expiry, so that a token does not expire during a request. */
export function renewAt({ obtainedAt, expiresAt }: CachedCredential): number {
  return expiresAt - Math.min(RENEW_AHEAD, (expiresAt - obtainedAt) * RENEW_FRACTION);
}

/** @param given the value of `--cache-dir` */
export function cacheFolder(given: string | undefined, env: NodeJS.ProcessEnv): string {
  if (given !== undefined) return absoluteName(given, env);
  const base = env.XDG_CACHE_HOME ?? '';
  // The specification requires to ignore relative paths.
  return join(isAbsolute(base) ? base : join(homedir(), '.cache'), 'stonegate');
}

/**
 * @param identity identifies the token; contains no secret
 * @throws LoginError if the folder cannot be used, or others can write to it
 */
export async function openTokenCache(folder: string, identity: readonly string[]): Promise<TokenCache> {
  await makeFolder(folder, 0o700).catch(failed(`cannot create the folder ${folder}`));
  const reason = accessibleToOthers(await stat(folder), OTHERS_MAY_WRITE);
  if (reason !== undefined) throw new LoginError(`the folder ${folder} ${reason}: not used for tokens`);
  const name = hash('sha256', JSON.stringify(identity)).slice(0, 32);
  const file = join(folder, `${name}.json`);
  return {
    file,
    async read() {
      const text = await readOwn(file);
      return text === undefined ? undefined : parse(text, identity);
    },
    remove: () => rm(file, { force: true }),
    async write(credential) {
      await replaceFile(file, JSON.stringify({ identity, ...credential })).catch(
        failed(`cannot write the token to ${file}`),
      );
    },
  };
}

/** Removes every token of the folder; a lock is of a login that is under way. @returns how many there were */
export async function forgetAll(folder: string): Promise<number> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    return failed(`cannot read the folder ${folder}`)(error);
  });
  const ours = names.filter((name) => /^[0-9a-f]{32}\.json(\.failure)?$/.test(name));
  for (const name of ours) await rm(join(folder, name), { force: true });
  return ours.filter((name) => name.endsWith('.json')).length;
}

async function readOwn(file: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, READ_DIRECTLY);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    return failed(`cannot read the cached token ${file}`)(error);
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new LoginError(`the cached token ${file} is no regular file: delete it`);
    const reason = accessibleToOthers(stats, OTHERS_MAY_ANYTHING);
    if (reason !== undefined) {
      throw new LoginError(`the cached token ${file} ${reason}: delete it, and think of its token as known`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** @returns why the file is not trusted; undefined if it is, and on Windows */
function accessibleToOthers(stats: Stats, forbidden: number): string | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  if (stats.uid !== own) return 'belongs to another user';
  if ((stats.mode & forbidden) === 0) return undefined;
  return `is open to others (mode ${(stats.mode & 0o777).toString(8)})`;
}

function parse(text: string, identity: readonly string[]): CachedCredential | undefined {
  // Another version may have written it, or the disk was full.
  const { token, expiresAt, obtainedAt, refreshToken, holder, identity: known } = readJSONObject(text) ?? {};
  if (JSON.stringify(known) !== JSON.stringify(identity)) return undefined;
  if (typeof token !== 'string' || typeof expiresAt !== 'number' || typeof obtainedAt !== 'number')
    return undefined;
  return {
    ...{ token, expiresAt, obtainedAt },
    ...(typeof holder === 'string' && { holder }),
    ...(typeof refreshToken === 'string' && { refreshToken }),
  };
}

function failed(what: string): (error: unknown) => never {
  return (error) => {
    throw new LoginError(`${what}: ${messageOf(error)}`);
  };
}
