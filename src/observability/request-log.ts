/**
 * The log's view of a request: only what went wrong, under the audit ID the client was shown, with the cause
 * that the client was not.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Logger } from '../lib/logger.ts';
import { untrustedText } from '../lib/redact.ts';
import type { ObservedRequest, RequestObserver } from '../pipeline/ports.ts';

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
