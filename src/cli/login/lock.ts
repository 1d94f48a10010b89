/**
 * One login at a time for an identity, though ten kubectl start at once: a file that only one process can create, with
 * the process in it. Whose process is gone has lost it: the number alone would not do, since numbers come around again, so
 * the time of its start stands beside it. Packages for this keep a lock alive by touching it, so that after a crash
 * everybody waits, or a laptop's sleep breaks it.
 *
 * Breaking a stale lock is a rename, which only one process can win; the moment in which a third creates its own between
 * is checked for afterwards. What is left could cost one login more, never a wrong answer.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { LoginError } from './credential-source.ts';

/** Milliseconds between two looks. */
const LOOK_AGAIN = 50;
/** Looks after which the person is told why nothing happens. */
const PATIENT_LOOKS = 40;

export interface LockOptions {
  readonly file: string;
  readonly signal: AbortSignal;
  /** Called once, when it takes long: `owner` says in words who logs in. */
  readonly onWait: (owner: string) => void;
}

/**
 * Waits for as long as the owner lives.
 *
 * @returns gives it back
 * @throws LoginError where the file cannot be made; the signal's reason where it is aborted
 */
export async function lock({ file, signal, onWait }: LockOptions): Promise<() => Promise<void>> {
  const own = JSON.stringify({ host: hostname(), pid: process.pid, started: await startOf(process.pid) });
  for (let looks = 1; ; looks += 1) {
    signal.throwIfAborted();
    if (await create(file, own)) return () => rm(file, { force: true });
    const holder = await readIfThere(file);
    if (holder === undefined) continue;
    const owner = await ownerOf(holder);
    if (owner === undefined) await breakStale(file, holder);
    else {
      if (looks === PATIENT_LOOKS) onWait(owner);
      await pause(LOOK_AGAIN, undefined, { signal });
    }
  }
}

async function create(file: string, content: string): Promise<boolean> {
  // Linked, not written in place: a reader never sees an empty one.
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw new LoginError(`cannot lock ${file}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await rm(draft, { force: true });
  }
}

/** @returns undefined where it is gone. On another host that shares the folder nobody can tell: it is waited for. */
async function ownerOf(content: string): Promise<string | undefined> {
  const { host, pid, started } = parse(content);
  if (typeof pid !== 'number') return undefined;
  if (host !== hostname()) return `process ${pid} on ${host}`;
  if (!isAlive(pid)) return undefined;
  const start = await startOf(pid);
  return start === undefined || started === undefined || start === started ? `process ${pid}` : undefined;
}

async function breakStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await rename(file, aside);
  } catch (error) {
    // Somebody else was faster.
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  if ((await readIfThere(aside)) !== stale) {
    await link(aside, file).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  }
  await rm(aside, { force: true });
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
