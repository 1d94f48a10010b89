/**
 * Observers of requests: combines several into one, and logs failed requests.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { untrustedText } from '../lib/untrusted-text.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';
import type { ObservedRequest, RequestObserver } from './request-observer.ts';

/** An observer that throws is logged, and affects neither the request nor the other observers. */
export function observeAll(observers: readonly RequestObserver[], logger: Logger): RequestObserver {
  function each(observe: (observer: RequestObserver) => void): void {
    for (const observer of observers) {
      try {
        observe(observer);
      } catch (error) {
        logger.error({ error }, 'an observer of requests failed');
      }
    }
  }
  return {
    requestReceived: (record) => each((observer) => observer.requestReceived(record)),
    responseStarted: (record, status) => each((observer) => observer.responseStarted(record, status)),
    responseComplete: (record) => each((observer) => observer.responseComplete(record)),
  };
}

/**
 * Logs failed requests with the audit ID that the client was shown and the cause that it was not. In an
 * outage every waiting request fails: one of a code is logged each second, with the number of those that were
 * omitted. Unexpected errors are all logged, since users are told to ask for them by their audit ID.
 */
export function createRequestLog(logger: Logger, clock: Clock): RequestObserver {
  const errors = createRateLimiter({ perSecond: 1, burst: 1, clock });
  const omitted = new Map<string, number>();
  return {
    requestReceived() {},
    responseStarted() {},
    responseComplete(record) {
      const { outcome, user, impersonator } = record;
      if (outcome?.code === undefined) return;
      const fields = {
        auditID: record.auditID,
        code: outcome.code,
        status: outcome.status,
        source: record.sourceIPs[0],
        ...(user === undefined ? {} : { user: (impersonator ?? user).username, tenant: record.tenant }),
        ...(user === undefined || impersonator === undefined ? {} : { as: untrustedText(user.username) }),
        reason: reasonOf(record),
      };
      const { code } = outcome;
      if (outcome.status < 500) logger.info(fields, 'request refused');
      else if (code === 'InternalError' || errors.take(code)) {
        const others = omitted.get(code);
        omitted.delete(code);
        logger.error({ ...fields, ...(others !== undefined && { omitted: others }) }, 'request failed');
      } else omitted.set(code, (omitted.get(code) ?? 0) + 1);
    },
  };
}

/** An expected error is one line; others are logged with their stack. */
function reasonOf({ outcome }: ObservedRequest): unknown {
  const error = outcome?.error;
  if (!(error instanceof StatusError)) return error;
  const { cause } = error;
  const message = untrustedText(error.message);
  if (cause === undefined) return message;
  return `${message}: ${untrustedText(cause instanceof Error ? cause.message : String(cause))}`;
}
