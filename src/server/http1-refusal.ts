/**
 * Answers to bytes that never became a request: a Status written straight to the socket, which then closes. It comes in its
 * turn, behind the answers to all requests before those bytes. The close lingers for a moment, since a reset would overtake
 * the answer while the client is still sending.
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

/** Milliseconds, as is the next. */
const LINGER = 2_000;
/** For the answers before it: most have ended by then, and a watch would not. What is sent behind it is read for nobody. */
const PATIENCE = 60_000;

/** Answers what Node's parser could not read, where an answer can still be told from those before it. */
export function refuseBytes(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  connection: Http1Connection,
  context: ServeContext,
): void {
  if (connection.refused) return;
  connection.refused = true;
  const { unfinished } = connection;
  if (
    !socket.writable ||
    error.code === 'ECONNRESET' ||
    connection.answeredEarly ||
    unfinished?.headersSent
  ) {
    socket.destroy();
    return;
  }
  if (unfinished !== undefined) {
    // The bytes are of its body: the refusal is its answer.
    unfinished.abandon();
    connection.settle(unfinished);
  }
  connection.onSettled(() => refuse(refusalOf(error), error.code, socket, context));
  if (connection.pending > 0) closeWithin(PATIENCE, socket, context);
}

function refuse(
  refusal: StatusError,
  cause: string | undefined,
  socket: Duplex,
  context: ServeContext,
): void {
  const { random, logger } = context;
  // The answer before it was the connection's last.
  if (!socket.writable) return;
  const auditID = random.uuid();
  logger.info({ auditID, code: refusal.code, cause }, `refused: ${refusal.message}`);
  socket.end(encode(refusal, auditID));
  socket.resume();
  closeWithin(LINGER, socket, context);
}

function closeWithin(milliseconds: number, socket: Duplex, { clock }: ServeContext): void {
  const timer = clock.after(milliseconds, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}

function refusalOf({ code }: NodeJS.ErrnoException): StatusError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new StatusError('HeadersTooLarge', 'the request header fields are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
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
