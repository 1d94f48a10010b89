/**
 * The errors that the client itself reports. Errors of sockets and of TLS are passed on as Node reports them.
 */
import { hasCode } from '../../lib/error-code.ts';

export type Http1ErrorCode =
  /** A streamed request body was shorter or longer than its Content-Length. */
  | 'BODY_LENGTH_MISMATCH'
  /** No connection within the connect timeout. */
  | 'CONNECT_TIMEOUT'
  /** The connection ended before the response began. */
  | 'CONNECTION_LOST'
  /** The server sent something that is not exactly one HTTP/1.1 response. */
  | 'MALFORMED_RESPONSE'
  /** The pool takes no new requests, or breaks off those it has. */
  | 'POOL_CLOSED'
  /** No connection became free in time. */
  | 'QUEUE_TIMEOUT'
  /** The connection ended within the response. */
  | 'RESPONSE_INCOMPLETE'
  /** HTTP/1.1 cannot express the request. */
  | 'REQUEST_INVALID';

export class Http1Error extends Error {
  readonly code: Http1ErrorCode;

  constructor(code: Http1ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function malformedResponse(message: string): Http1Error {
  return new Http1Error('MALFORMED_RESPONSE', message);
}

/** Whether the connection ended without an error that the server or TLS gave a reason for. */
export function isConnectionLoss(error: unknown): boolean {
  return hasCode(error, 'CONNECTION_LOST', 'ECONNRESET', 'EPIPE');
}
