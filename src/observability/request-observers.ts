/**
 * Several observers as one. One that fails must not take the request or the others with it: it is logged.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Logger } from '../lib/logger.ts';
import { untrustedText } from '../lib/redact.ts';
import type { ObservedRequest, RequestObserver } from '../pipeline/ports.ts';

export function observeAll(observers: readonly RequestObserver[], logger: Logger): RequestObserver {
  const failed = (error: unknown) => logger.error({ error }, 'an observer of requests failed');
  // Written out for each event: the same once, with a function of the event, would make one at each.
  return {
    requestReceived(record) {
      for (const observer of observers) {
        try {
          observer.requestReceived(record);
        } catch (error) {
          failed(error);
        }
      }
    },
    responseStarted(record, status) {
      for (const observer of observers) {
        try {
          observer.responseStarted(record, status);
        } catch (error) {
          failed(error);
        }
      }
    },
    responseComplete(record) {
      for (const observer of observers) {
        try {
          observer.responseComplete(record);
        } catch (error) {
          failed(error);
        }
      }
    },
  };
}

// FROM src/observability/request-log.ts
/*!
 * The log's view of a request: only what went wrong, under the audit ID the client was shown, with the cause
 * that the client was not.
 */

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

/** A stack trace is worth its space only where nobody expected the error. */
function reasonOf({ outcome }: ObservedRequest): unknown {
  const error = outcome?.error;
  if (!(error instanceof StatusError)) return error;
  const { cause } = error;
  const message = untrustedText(error.message);
  if (cause === undefined) return message;
  return `${message}: ${untrustedText(cause instanceof Error ? cause.message : String(cause))}`;
}
