/**
 * Writes a whole response of Stonegate's own. The memory of its body is given back when the client has
 * accepted the body, or is gone: a client that reads slowly holds its tenant's share meanwhile.
 */

import type { RelayResult, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { fromAbortSignal } from '../../lib/cancellation.ts';
import type { Exchange } from '../../lib/exchange.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { ResponseMemory } from '../../limits/response-memory.ts';
import type { Received } from '../request-context.ts';

/** @throws StatusError TenantRateExceeded, ListTooLarge if the body's memory is not accounted for yet */
export function writeResponse(
  { exchange, auditID, tenant }: Pick<Received, 'exchange' | 'auditID'> & { readonly tenant: string },
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

const PIECE = 64 * 1024;

/** @param release called once */
export function writeAccounted(
  { response, signal, cancellation }: Pick<Exchange, 'response' | 'signal' | 'cancellation'>,
  body: Buffer,
  release: () => void,
): void {
  const client = cancellation ?? fromAbortSignal(signal);
  let offset = 0;
  let isReleased = false;

  function done(): void {
    if (isReleased) return;
    isReleased = true;
    client.offCancel(done);
    release();
  }

  function send(): void {
    while (!response.closed && body.length - offset > PIECE) {
      const piece = body.subarray(offset, offset + PIECE);
      offset += PIECE;
      if (response.write(piece)) continue;
      response.onDrain(send);
      return;
    }
    if (!response.closed) response.end(body.subarray(offset));
    done();
  }

  client.onCancel(done);
  if (client.cancelled) done();
  else send();
}
