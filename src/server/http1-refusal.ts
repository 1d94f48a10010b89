/**
 * Responses to bytes that are no HTTP request: a Status is written to the socket after all pending responses,
 * then the socket closes. It closes with a delay, because a reset would overtake the response while the
 * client is still sending.
 * RFC 9112 §9.3.2, §9.6.
 */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type { Http1Connection } from './http1-connection.ts';
import type { ServeContext } from './serve-context.ts';
import { encodeStatus } from './status-writer.ts';

/** Milliseconds between the response and closing the socket. */
const LINGER = 2_000;
/** Milliseconds for pending responses to end; a watch would not end by itself. */
const PENDING_TIMEOUT = 60_000;

/**
 * Refuses what Node's parser rejects; only closes the socket if the response could be taken for another
 * one's.
 */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  connection: Http1Connection,
  context: ServeContext,
): void {
  if (connection.refused) return;
  connection.refused = true;
  const { incomplete } = connection;
  if (
    !socket.writable ||
    error.code === 'ECONNRESET' ||
    connection.respondedEarly ||
    incomplete?.headersSent
  ) {
    socket.destroy();
    return;
  }
  if (incomplete !== undefined) {
    // The bytes belong to its body: the refusal is its response.
    incomplete.cancel();
    connection.dequeue(incomplete);
  }
  connection.whenEmpty(() => refuse(statusErrorFor(error), error.code, socket, context));
  if (connection.pending > 0) closeAfter(PENDING_TIMEOUT, socket, context);
}

function refuse(
  refusal: StatusError,
  cause: string | undefined,
  socket: Duplex,
  context: ServeContext,
): void {
  const { random, logger } = context;
  // The previous response has closed the connection.
  if (!socket.writable) return;
  const auditID = random.uuid();
  logger.info({ auditID, code: refusal.code, cause }, `refused: ${refusal.message}`);
  socket.end(encode(refusal, auditID));
  socket.resume();
  closeAfter(LINGER, socket, context);
}

function closeAfter(milliseconds: number, socket: Duplex, { clock }: ServeContext): void {
  const timer = clock.after(milliseconds, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}

function statusErrorFor({ code }: NodeJS.ErrnoException): StatusError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new StatusError('HeadersTooLarge', 'the request header fields are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
    // Node's timer of the handshake may fire when the handshake has just ended.
    case 'ERR_TLS_HANDSHAKE_TIMEOUT':
      return new StatusError('HeaderTimeout', 'the request head did not arrive in time');
    default:
      return new StatusError('RequestMalformed', 'the request is not well-formed HTTP');
  }
}

function encode(refusal: StatusError, auditID: string): Buffer {
  const { code, headers, body } = encodeStatus(toStatus(refusal, auditID), auditID);
  const fields: HeaderField[] = [...headers, ['Connection', 'close']];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}\r\n${lines}\r\n`), body]);
}
