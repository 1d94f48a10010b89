/**
 * Request bodies at their two edges: `100 Continue` is sent when the body is first read, so that a refused
 * request uploads nothing; and the rest of a body that was not read is discarded within bounds, as in Go's
 * HTTP server.
 * RFC 9110 §10.1.1; RFC 9112 §9.3.
 */
import { type Duplex, Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const MAX_DISCARDED_BYTES = 256 * 1024;

/**
 * The body of a request with `Expect: 100-continue`.
 *
 * @param sendContinue sends the interim response
 */
export function continueOnRead(body: Readable, sendContinue: () => void, logger: Logger): Readable {
  const chunks = body.iterator({ destroyOnReturn: false });
  async function* read(): AsyncGenerator<unknown, void> {
    sendContinue();
    yield* chunks;
  }
  const readable = Readable.from(read(), { objectMode: false });
  // The reader gets the error too; without this listener it would be an uncaught error.
  readable.on('error', (error) => logger.debug({ error }, 'a request body ended early'));
  return readable;
}

/** Whether no code has begun to read the body. */
export function isUnread(body: Readable): boolean {
  return body.readableFlowing === null && body.listenerCount('readable') === 0;
}

/**
 * Discards the rest of a body from the start of the response, so that the client reads the response and the
 * connection stays open. While an unread body stops all reading, Node does not report that the client
 * disconnected.
 */
export function discardRest(body: Readable, socket: Duplex): void {
  let remaining = MAX_DISCARDED_BYTES;
  body.on('data', (chunk: Buffer) => {
    remaining -= chunk.length;
    if (remaining < 0) socket.destroy();
  });
  body.resume();
}

/** @param timeout milliseconds for the rest to arrive */
export function limitRest(body: Readable, socket: Duplex, clock: Clock, timeout: number): void {
  const timer = clock.after(timeout, () => socket.destroy());
  body.once('end', () => timer.cancel());
  body.once('close', () => timer.cancel());
}
