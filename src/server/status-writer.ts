/**
 * Writes Kubernetes Status objects. Every refusal is written here, so that all look the same to kubectl and
 * carry their audit ID.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
import type { StatusResponse } from '../errors/to-status.ts';
import type { ResponseWriter } from '../lib/exchange.ts';
import type { HeaderField } from '../lib/header-list.ts';

/** The parts of a response for a response writer, a raw socket or the admin listener. */
export function encodeStatus({ status, headers }: StatusResponse, auditID: string) {
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
  const fields: HeaderField[] = [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.length)],
    ['Cache-Control', 'no-cache, private'],
    ['Audit-Id', auditID],
    ...headers,
  ];
  return { code: status.code, headers: fields, body };
}

/** Sends the Status if no head was sent; a response that has begun is aborted. */
export function writeStatus(response: ResponseWriter, refusal: StatusResponse, auditID: string): void {
  if (response.closed) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { code, headers, body } = encodeStatus(refusal, auditID);
  response.writeHead(code, headers);
  response.end(body);
}
