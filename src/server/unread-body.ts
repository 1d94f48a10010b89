/**
 * What becomes of a body nobody read because its request was answered early: a bounded rest is thrown away, so
 * that the connection can be kept and the client gets to read the answer; whoever sends more, or slower, is cut
 * off. Go's HTTP server does the same. It begins with the answer, not behind it: an unread body stops all reading from
 * its connection, and a connection that is not read does not tell that its client has left. RFC 9112 §9.3.
 */
import type { Duplex, Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';

const MAX_DISCARDED_BYTES = 256 * 1024;

/** Whether anybody ever began to read it. */
export function isUntouched(body: Readable): boolean {
  return body.readableFlowing === null && body.listenerCount('readable') === 0;
}

export function discardRest(body: Readable, socket: Duplex): void {
  let left = MAX_DISCARDED_BYTES;
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  body.resume();
}

/** @param within milliseconds for the rest to arrive */
export function limitRest(body: Readable, socket: Duplex, clock: Clock, within: number): void {
  const timer = clock.after(within, () => socket.destroy());
  body.once('end', () => timer.cancel());
  body.once('close', () => timer.cancel());
}
