/**
 * What `stonegate check` finds, and how it asks a backend: within a time limit, and with a distinction
 * between a backend that cannot be reached from this machine and one that refuses.
 */
import type { Problem } from '../../config/problem.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { innermost } from '../../identity/oidc/oidc-login-error.ts';
import { systemClock, unlessAborted, withDeadline } from '../../lib/clock.ts';
import { hasCode, innermostCode } from '../../lib/error-code.ts';

export interface CheckResult extends Problem {
  /** Every request fails. */
  readonly isError?: boolean;
}

export function error(path: string, message: string): CheckResult {
  return { path, message, isError: true };
}

export function warning(path: string, message: string): CheckResult {
  return { path, message };
}

/** Milliseconds for all that one backend is asked. */
const LIMIT = 15_000;

/** @throws Error with the code `ETIMEDOUT`, and what `asked` is rejected with */
export function withinLimit<T>(asked: Promise<T>): Promise<T> {
  const late = () => Object.assign(new Error(`no answer within ${LIMIT / 1000} s`), { code: 'ETIMEDOUT' });
  return withDeadline(systemClock, LIMIT, late, (signal) => unlessAborted(asked, signal));
}

const NOT_REACHED: ReadonlySet<string | undefined> = new Set([
  'CONNECT_TIMEOUT',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

export interface BackendFailure {
  /** One line, for the operator. */
  readonly reason: string;
  /** Nothing answers: the network of this machine may be the reason. */
  readonly isUnreachable: boolean;
  /** The backend's certificate is not trusted, or it speaks no TLS. */
  readonly isUntrusted: boolean;
  /** The API server does not accept Stonegate's credential. */
  readonly isRefused: boolean;
}

/** @throws what was thrown, if it is no failure of a backend */
export function failureOf(thrown: unknown): BackendFailure {
  if (!(thrown instanceof Error && (thrown instanceof StatusError || hasCode(thrown, 'ETIMEDOUT'))))
    throw thrown;
  const code = innermostCode(thrown.cause ?? thrown);
  const isTimeout = thrown instanceof StatusError && thrown.code === 'UpstreamTimeout';
  return {
    reason: messageOf(thrown),
    isUnreachable: isTimeout || NOT_REACHED.has(code),
    isUntrusted: /CERT|ISSUER|SIGNATURE|ALTNAME|SSL|EPROTO/.test(code ?? ''),
    isRefused: thrown instanceof StatusError && thrown.code === 'UpstreamRefusedCredential',
  };
}

/** The cause says more than the message for clients. */
function messageOf(thrown: Error): string {
  const { cause } = thrown;
  if (cause instanceof Error) return innermost(cause);
  return typeof cause === 'string' ? `${reasonOf(thrown)}: ${cause}` : reasonOf(thrown);
}

/** @returns one warning if the API server does not respond, so that the other results are still shown */
export async function whenAsked(
  path: string,
  what: string,
  ask: () => Promise<CheckResult[]>,
): Promise<CheckResult[]> {
  try {
    return await ask();
  } catch (thrown) {
    return [warning(path, `the API server could not be asked for ${what}: ${failureOf(thrown).reason}`)];
  }
}
