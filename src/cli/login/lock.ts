/**
 * A lock so that concurrent kubectl processes log in once: a file that only one process can create. Its
 * owner renews the file's modification time; without renewal the lock ends after its lifetime, so that a
 * killed process does not block the next login.
 */
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { hasCode, messageOf } from '../../lib/error-code.ts';
import { LoginError } from './credential-source.ts';

/** Milliseconds between two attempts. */
const RETRY_INTERVAL = 50;
/** Attempts after which the user is told why the command waits. */
const QUIET_ATTEMPTS = 40;
/** Milliseconds after the last renewal. */
const LIFETIME = 20_000;
const RENEWAL_INTERVAL = 5_000;

export interface LockOptions {
  readonly file: string;
  readonly signal: AbortSignal;
  /** Called once if waiting takes long. */
  readonly onWait: () => void;
}

/**
 * Waits while another process holds the lock.
 *
 * @returns releases the lock
 * @throws LoginError if the file cannot be created; the signal's reason if it is aborted
 */
export async function lock({ file, signal, onWait }: LockOptions): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const handle = await create(file);
    if (handle !== undefined) return await hold(handle, file);
    if (await hasExpired(file)) {
      // If two processes find the same expired file, both may log in: one login too many, and no harm.
      await rm(file, { force: true });
    } else {
      if (attempt === QUIET_ATTEMPTS) onWait();
      await pause(RETRY_INTERVAL, undefined, { signal });
    }
  }
}

/** @returns undefined if the file exists */
async function create(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined;
    throw new LoginError(`cannot lock ${file}: ${messageOf(error)}`);
  }
}

async function hold(handle: FileHandle, file: string): Promise<() => Promise<void>> {
  // Tells a user whose lock it is.
  await handle.writeFile(`process ${process.pid} on ${hostname()}\n`);
  const renewal = setInterval(() => {
    const now = new Date();
    // A renewal that fails only lets the lock expire earlier.
    handle.utimes(now, now).catch(() => clearInterval(renewal));
  }, RENEWAL_INTERVAL).unref();
  return async () => {
    clearInterval(renewal);
    await handle.close();
    await rm(file, { force: true });
  };
}

async function hasExpired(file: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(file);
    return Math.abs(Date.now() - mtimeMs) > LIFETIME;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
