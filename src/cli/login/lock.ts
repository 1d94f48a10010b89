/**
 * One login at a time for an identity, though ten kubectl start at once: numbered files, of which each can be created
 * only once. Who creates the next number has the lock, and may do so when the owner of the last one has given it back or
 * is gone. The last one is never deleted, so that no number comes again and nobody can take a lock that was taken over
 * in between.
 *
 * Whose process is gone has lost the lock. Its number alone would not tell, since numbers of processes do come again;
 * so the time of its start stands beside it. Packages for this keep a lock alive by touching it, so that after a crash
 * everybody waits, and a laptop's sleep breaks it.
 */
import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LoginError } from './credential-source.ts';

/** Milliseconds between two looks. */
const LOOK_AGAIN = 50;
/** Looks after which the person is told why nothing happens. */
const PATIENT_LOOKS = 40;

const GIVEN_BACK = '{}';

export interface LockOptions {
  /** Without its number. */
  readonly file: string;
  readonly signal: AbortSignal;
  /** Called once, when it takes long: `owner` says in words who has it. */
  readonly onWait: (owner: string) => void;
}

/**
 * Waits for as long as the owner lives.
 *
 * @returns gives it back
 * @throws LoginError where no file can be made; the signal's reason where it is aborted
 */
export async function lock({ file, signal, onWait }: LockOptions): Promise<() => Promise<void>> {
  const own = JSON.stringify({ host: hostname(), pid: process.pid, started: await startOf(process.pid) });
  for (let looks = 1; ; looks += 1) {
    signal.throwIfAborted();
    const numbers = await numbersOf(file);
    const last = Math.max(0, ...numbers);
    const content = last === 0 ? GIVEN_BACK : await readIfThere(`${file}.${last}`);
    if (content === undefined) continue;
    const owner = await ownerOf(content);
    if (owner !== undefined) {
      if (looks === PATIENT_LOOKS) onWait(owner);
      await pause(LOOK_AGAIN, undefined, { signal });
    } else if (await place(own, `${file}.${last + 1}`, link)) {
      for (const number of numbers) await rm(`${file}.${number}`, { force: true });
      return async () => {
        await place(GIVEN_BACK, `${file}.${last + 1}`, rename);
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
 * Written aside and then put there, so that nobody reads half of it.
 *
 * @param put `link` leaves what is there, `rename` replaces it
 * @returns false where there is one
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

/** @returns undefined where it is gone, or was given back. On another host that shares the folder nobody can tell: it is waited for. */
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

/** In ticks since the machine's start, as Linux tells; undefined elsewhere. proc(5), `/proc/pid/stat`, field 22. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const stat = await readIfThere(`/proc/${pid}/stat`);
  // The second field is a name, with whatever in it.
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
