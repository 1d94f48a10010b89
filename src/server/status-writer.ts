/**
 * The one writer of Kubernetes Status objects. Everything Stonegate refuses leaves through here, so that every
 * refusal looks the same to kubectl and carries its audit ID.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
import type { StatusResponse } from '../errors/to-status.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { ResponseWriter } from '../pipeline/ports.ts';

/** A Status ready to be sent: the same whether a writer, a raw socket or the admin listener sends it. */
export interface EncodedStatus {
  readonly code: number;
  readonly headers: readonly HeaderField[];
  readonly body: Buffer;
}

export function encodeStatus({ status, headers }: StatusResponse, auditID: string): EncodedStatus {
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
  return {
    code: status.code,
    headers: [
      ['Content-Type', 'application/json'],
      ['Content-Length', String(body.length)],
      ['Cache-Control', 'no-cache, private'],
      ['Audit-Id', auditID],
      ...headers,
    ],
    body,
  };
}

/** Sends the Status where nothing has been sent yet; an answer already begun can only be broken off. */
export function writeStatus(response: ResponseWriter, answer: StatusResponse, auditID: string): void {
  if (response.closed) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { code, headers, body } = encodeStatus(answer, auditID);
  response.writeHead(code, headers);
  response.end(body);
}
