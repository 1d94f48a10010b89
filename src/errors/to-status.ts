/**
 * Converts an error to the Kubernetes Status sent to the client. An unexpected error becomes a 500 without
 * details; its audit ID identifies the log line.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */

import type { HeaderField } from '../lib/header-list.ts';
import { CODES } from './codes.ts';
import type { Status } from './status.ts';
import { StatusError } from './status-error.ts';

export interface StatusResponse {
  readonly status: Status;
  readonly headers: readonly HeaderField[];
}

/**
 * @param error anything thrown
 * @param auditID included in the Status, so that a user's error message identifies the log line
 */
export function toStatus(error: unknown, auditID: string): StatusResponse {
  const known =
    error instanceof StatusError
      ? error
      : new StatusError(
          'InternalError',
          'Internal error occurred: see the log of Stonegate under the audit ID',
        );
  const { http, reason } = CODES[known.code];
  const retryAfterSeconds = known.details?.retryAfterSeconds ?? (http === 429 ? 1 : undefined);
  return {
    status: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: known.message,
      reason,
      details: {
        ...known.details,
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        causes: [
          ...(known.details?.causes ?? causesOf(known)),
          { reason: 'StonegateCode', message: known.code },
          { reason: 'AuditID', message: auditID },
        ],
      },
      code: http,
    },
    headers: protocolHeaders(known, retryAfterSeconds),
  };
}

/** kubectl prints nothing of a 422 but its causes. */
function causesOf({ http, message }: StatusError) {
  return http === 422 ? [{ reason: 'FieldValueInvalid', message }] : [];
}

/** A 503 has no Retry-After: kubectl would silently retry ten times and lose the message. */
function protocolHeaders({ http, allow }: StatusError, retryAfterSeconds: number | undefined): HeaderField[] {
  if (http === 401) return [['WWW-Authenticate', 'Bearer realm="stonegate"']];
  if (http === 405 && allow.length > 0) return [['Allow', allow.join(', ')]];
  return retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)]];
}
