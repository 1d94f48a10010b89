/**
 * Turns whatever was thrown into the Kubernetes Status a client gets. Unknown errors become a 500 without
 * detail; the audit ID leads the operator to the log line that has it.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
import type { Status } from '../api/meta-v1.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { CODES } from './codes.ts';
import { StatusError } from './status-error.ts';

export interface StatusResponse {
  readonly status: Status;
  readonly headers: readonly HeaderField[];
}

/**
 * @param error anything thrown
 * @param auditID repeated in the Status, so that a screenshot of an error suffices to find its log line
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
        causes: [
          ...(known.details?.causes ?? []),
          { reason: 'StonegateCode', message: known.code },
          { reason: 'AuditID', message: auditID },
        ],
      },
      code: http,
    },
    headers: protocolHeaders(known),
  };
}

/** A 503 carries no Retry-After: kubectl would retry ten times in silence and lose the message. */
function protocolHeaders({ http, allow }: StatusError): HeaderField[] {
  if (http === 401) return [['WWW-Authenticate', 'Bearer realm="stonegate"']];
  if (http === 405 && allow.length > 0) return [['Allow', allow.join(', ')]];
  if (http === 429) return [['Retry-After', '1']];
  return [];
}
