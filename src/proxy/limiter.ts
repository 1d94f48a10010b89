/**
 * The limiter: the stage `limit` asks it before a request is routed, and `actAs` before each review that it
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
