/**
 * A lock so that concurrent kubectl processes log in once: numbered files, each of which can be created only
 * once. The process that creates the next number holds the lock; it may do so if the holder of the last
 * number has released it or has ended (process id and start time). The last file is never deleted, so no
 * number is reused.
 */
import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LoginError } from './credential-source.ts';

/** Milliseconds between two attempts. */
const RETRY_INTERVAL = 50;
/** Attempts after which the user is told why the command waits. */
const QUIET_ATTEMPTS = 40;

const RELEASED = '{}';

export interface LockOptions {
  /** The path, without the number. */
  readonly file: string;
  readonly signal: AbortSignal;
  /** Called once if waiting takes long; `owner` describes the process that holds the lock. */
  readonly onWait: (owner: string) => void;
}

/**
 * Waits while the owner runs.
 *
 * @returns releases the lock
 * @throws LoginError if no file can be created; the signal's reason if it is aborted
 */
export async function lock({ file, signal, onWait }: LockOptions): Promise<() => Promise<void>> {
  const own = JSON.stringify({ host: hostname(), pid: process.pid, started: await startOf(process.pid) });
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const numbers = await numbersOf(file);
    const last = Math.max(0, ...numbers);
    const content = last === 0 ? RELEASED : await readIfThere(`${file}.${last}`);
    if (content === undefined) continue;
    const owner = await ownerOf(content);
    if (owner !== undefined) {
      if (attempt === QUIET_ATTEMPTS) onWait(owner);
      await pause(RETRY_INTERVAL, undefined, { signal });
    } else if (await place(own, `${file}.${last + 1}`, link)) {
      for (const number of numbers) await rm(`${file}.${number}`, { force: true });
      return async () => {
        await place(RELEASED, `${file}.${last + 1}`, rename);
      };
    }
  }
}

async function numbersOf(file: string): Promise<number[]> {
  const prefix = `${basename(file)}.`;
  const names = await readdir(dirname(file)).catch(cannotLock(file));
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}

/**
 * Writes a draft first, so that no process reads a partial file.
 *
 * @param put `link` fails if the file exists, `rename` replaces it
 * @returns false if the file exists
 */
async function place(content: string, file: string, put: typeof link): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}.draft`;
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx' });
    await put(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    return cannotLock(file)(error);
  } finally {
    await rm(draft, { force: true });
  }
}

function cannotLock(file: string): (error: unknown) => never {
  return (error) => {
    throw new LoginError(`cannot lock ${file}: ${error instanceof Error ? error.message : String(error)}`);
  };
}

/**
 * @returns undefined if the owner has ended or released the lock. An owner on another host is assumed to run.
 */
async function ownerOf(content: string): Promise<string | undefined> {
  const { host, pid, started } = parse(content);
  if (typeof pid !== 'number') return undefined;
  if (host !== hostname()) return `process ${pid} on ${host}`;
  if (!isAlive(pid)) return undefined;
  const start = await startOf(pid);
  return start === undefined || started === undefined || start === started ? `process ${pid}` : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

/**
 * Start time in ticks since boot, because process ids are reused; Linux only. proc(5), `/proc/pid/stat`,
 * field 22.
 */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const stat = await readIfThere(`/proc/${pid}/stat`);
  // The second field is a name, which may contain any character.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ESRCH')) return undefined;
    throw error;
  }
}

function parse(content: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
