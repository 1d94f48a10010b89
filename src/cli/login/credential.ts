/**
 * A credential for kubectl: from the cache where it is good for a while, else by one login for all that ask at once.
 * Those who waited for a login that failed fail with it, and so does the kubectl whose it was when it asks again, as it
 * does four times at once: ten wrong passwords within a second lock an account.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { type CredentialSource, LoginError, type Terminal } from './credential-source.ts';
import { lock } from './lock.ts';
import { type CachedCredential, renewAt, type TokenCache } from './token-cache.ts';

/** Milliseconds between two tries to renew a token that still serves. */
const RENEW_PAUSE = 30_000;
/** Milliseconds for which a failure holds for the same kubectl; a program that stays may try again then. */
const CALLER_PAUSE = 30_000;

export interface CredentialOptions {
  readonly source: CredentialSource;
  readonly cache: TokenCache;
  readonly terminal: Terminal;
  /** Logs in though there is a good one, as after a change of roles or a revoked token. */
  readonly force: boolean;
  /** The kubectl that asks, as against another one; undefined where a person runs the command by hand. */
  readonly caller?: string | undefined;
}

/** @throws LoginError with a sentence for the person */
export async function obtainCredential(options: CredentialOptions): Promise<CachedCredential> {
  const { cache, terminal, force } = options;
  const asked = terminal.clock.now();
  const cached = force ? undefined : await cache.read();
  if (cached !== undefined && asked < renewAt(cached)) return cached;
  const release = await lock({
    file: `${cache.file}.lock`,
    signal: terminal.signal,
    onWait: (owner) => terminal.say(`waiting for the login of ${owner} (${cache.file}.lock)`),
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
    await failures.forget();
    return obtained;
  } catch (error) {
    if (!(error instanceof LoginError) || terminal.signal.aborted) throw error;
    if (error !== earlier) await failures.remember(error);
    if (serving === undefined) throw error;
    const end = new Date(serving.expiresAt).toISOString();
    terminal.say(`cannot log in anew: ${error.message}; the token so far serves until ${end}`);
    return serving;
  }
}

/** The last login that failed, in a file beside the token. Guarded by the lock. */
function failuresOf({ cache, terminal, caller = '' }: CredentialOptions) {
  const record = `${cache.file}.failure`;
  const { clock, interactive } = terminal;
  return {
    forget: () => rm(record, { force: true }),
    remember: ({ message }: LoginError) =>
      writeFile(record, [clock.now(), interactive, caller, message].join('\n'), { mode: 0o600 }),
    /** Where somebody can be asked, a login that failed for want of that says nothing. */
    async since(begin: number): Promise<LoginError | undefined> {
      const failure = await readFailure(record);
      // One of a time to come is of a clock that was wrong.
      if (failure === undefined || !(failure.at <= clock.now())) return undefined;
      const again = caller !== '' && caller === failure.caller && clock.now() < failure.at + CALLER_PAUSE;
      if (failure.at < begin && !again) return undefined;
      return failure.interactive || !interactive ? new LoginError(failure.message) : undefined;
    },
  };
}

interface Failure {
  readonly at: number;
  readonly interactive: boolean;
  readonly caller: string;
  readonly message: string;
}

async function readFailure(file: string): Promise<Failure | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const [at, interactive, caller = '', ...message] = text.split('\n');
  return { at: Number(at), interactive: interactive === 'true', caller, message: message.join('\n') };
}
