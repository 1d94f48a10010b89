/**
 * Obtains a credential for kubectl: from the cache, else by one login for all concurrent processes. If that
 * login fails, it fails for all of them and for retries of the same kubectl (four at once), because repeated
 * wrong passwords lock accounts.
 */
import { rm, writeFile } from 'node:fs/promises';
import { readIfThere } from '../../lib/file-errors.ts';
import { type CredentialSource, LoginError, type Terminal } from './credential-source.ts';
import { lock } from './lock.ts';
import { type CachedCredential, renewAt, type TokenCache } from './token-cache.ts';

/** Milliseconds between two attempts to renew a token that is still valid. */
const RENEW_PAUSE = 30_000;
/** Milliseconds for which the same kubectl gets the same error; long-lived programs may retry afterwards. */
const CALLER_PAUSE = 30_000;

export interface CredentialOptions {
  readonly source: Pick<CredentialSource, 'obtain'>;
  readonly cache: TokenCache;
  readonly terminal: Terminal;
  /** Logs in despite a valid token, for example after a change of roles. */
  readonly force: boolean;
  /** Identifies the calling kubectl process; undefined if a user runs the command directly. */
  readonly caller?: string | undefined;
}

/** @throws LoginError with a sentence for the user */
export async function obtainCredential(options: CredentialOptions): Promise<CachedCredential> {
  const { cache, terminal, force } = options;
  const asked = terminal.clock.now();
  const cached = force ? undefined : await cache.read();
  if (cached !== undefined && asked < renewAt(cached)) return cached;
  const release = await lock({
    file: `${cache.file}.lock`,
    signal: terminal.signal,
    onWait: () => terminal.say(`waiting for the login of another process (${cache.file}.lock)`),
  });
  try {
    return await logInLocked(options, asked);
  } finally {
    await release();
  }
}

async function logInLocked(options: CredentialOptions, asked: number): Promise<CachedCredential> {
  const { source, cache, terminal, force } = options;
  const now = terminal.clock.now();
  const previous = await cache.read();
  const meanwhile = previous !== undefined && previous.obtainedAt >= asked;
  if (previous !== undefined && now < renewAt(previous) && (!force || meanwhile)) return previous;
  const serving = previous !== undefined && !force && now < previous.expiresAt ? previous : undefined;
  const failures = failuresOf(options);
  const earlier = await failures.since(serving === undefined ? asked : now - RENEW_PAUSE);
  try {
    if (earlier !== undefined) throw earlier;
    const obtained = { ...(await source.obtain(terminal, previous)), obtainedAt: terminal.clock.now() };
    await cache.write(obtained);
    await failures.clear();
    return obtained;
  } catch (error) {
    if (!(error instanceof LoginError) || terminal.signal.aborted) throw error;
    if (error !== earlier) await failures.record(error);
    if (serving === undefined) throw withEndOf(previous, error, now);
    const end = new Date(serving.expiresAt).toISOString();
    terminal.say(`cannot log in again: ${error.message}; the current token is valid until ${end}`);
    return serving;
  }
}

/** A user whose kubectl worked until now learns since when it cannot. */
function withEndOf(previous: CachedCredential | undefined, error: LoginError, now: number): LoginError {
  if (previous === undefined || now < previous.expiresAt) return error;
  const end = new Date(previous.expiresAt).toISOString();
  return new LoginError(error.message, [`The last token expired at ${end}.`]);
}

/** The last login that failed, in a file beside the token. Guarded by the lock. */
function failuresOf({ cache, terminal, caller = '' }: CredentialOptions) {
  const record = `${cache.file}.failure`;
  const { clock, interactive } = terminal;
  return {
    clear: () => rm(record, { force: true }),
    record: ({ message }: LoginError) =>
      writeFile(record, [clock.now(), interactive, caller, message].join('\n'), { mode: 0o600 }),
    /** A failure of a login that could not ask the user is ignored if the user can be asked now. */
    async since(begin: number): Promise<LoginError | undefined> {
      const failure = await readFailure(record);
      // A future time stamp comes from a wrong clock.
      if (failure === undefined || !(failure.at <= clock.now())) return undefined;
      const again = caller !== '' && caller === failure.caller && clock.now() < failure.at + CALLER_PAUSE;
      if (failure.at < begin && !again) return undefined;
      return failure.interactive || !interactive ? new LoginError(failure.message) : undefined;
    },
  };
}

async function readFailure(file: string) {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const [at, interactive, caller = '', ...message] = text.split('\n');
  return { at: Number(at), interactive: interactive === 'true', caller, message: message.join('\n') };
}
