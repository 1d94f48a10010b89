/**
 * Writes a whole response of Stonegate's own.
 */

import type { RelayResult, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { ResponseMemory } from '../../limits/response-memory.ts';
import { writeAccounted } from '../request/write-body.ts';
import type { Outgoing } from '../request-context.ts';

/** @throws StatusError TenantRateExceeded, ListTooLarge if the body's memory is not accounted for yet */
export function writeResponse(
  { exchange, auditID, tenant }: Outgoing,
  answered: UpstreamResponse,
  memory: ResponseMemory,
): RelayResult {
  const { status, headers, body, annotations } = answered;
  const release = answered.release ?? memory.charged(tenant, answered).release;
  const { response } = exchange;
  const result = { status, ...(annotations && { annotations }) };
  if (response.closed) {
    release();
    return { ...result, aborted: true };
  }
  // The field in a 304 would be the length of a body that is not sent.
  const length: HeaderList = status === 304 ? [] : [['Content-Length', String(body.length)]];
  try {
    response.writeHead(status, [...headers, ...length, ['Audit-Id', auditID]]);
  } catch (error) {
    release();
    throw error;
  }
  writeAccounted(exchange, body, release);
  return { ...result, aborted: false };
}
