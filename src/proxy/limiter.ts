/**
 * Limiters: the stage `limit` asks them before a request is routed, and `actAs` before each review that it
 * makes for the request.
 */
import type { LongRunning } from '../kubernetes/request-info.ts';
import type { Scoped } from './request-context.ts';

/** Whom a request is charged to: its tenant and its user, who stay themselves with `--as` and as guests. */
export type LimitedAccount = Pick<Scoped, 'tenant' | 'user' | 'impersonator'>;

/** What decides the cost of a request, or of a review. */
export interface LimitedRequest {
  readonly isResourceRequest: boolean;
  readonly verb: string;
  readonly longRunning?: LongRunning | undefined;
}

export interface Limiter {
  /**
   * @returns undefined if nothing must be waited for: nearly always; the promise rejects as this throws
   * @throws StatusError with 429; then the request costs nothing
   */
  admit(account: LimitedAccount, request: LimitedRequest): Promise<void> | undefined;
}

/** @throws StatusError as the limiters do */
export function runLimiters(
  limiters: readonly Limiter[],
  account: LimitedAccount,
  request: LimitedRequest,
): Promise<void> | undefined {
  let pending: Promise<void> | undefined;
  for (const limiter of limiters)
    pending =
      pending === undefined
        ? limiter.admit(account, request)
        : pending.then(() => limiter.admit(account, request));
  return pending;
}
