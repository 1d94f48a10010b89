/**
 * Observers of requests: combines several into one, and logs failed requests.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Logger } from '../lib/logger.ts';
import { untrustedText } from '../lib/untrusted-text.ts';
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

/** Logs failed requests with the audit ID that the client was shown and the cause that it was not. */
export function createRequestLog(logger: Logger): RequestObserver {
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
      if (outcome.status >= 500) logger.error(fields, 'request failed');
      else logger.info(fields, 'request refused');
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
