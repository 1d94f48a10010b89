/**
 * What becomes of a body nobody read because its request was answered early: a bounded rest is thrown away, so
 * that the connection can be kept and the client gets to read the answer; whoever sends more, or slower, is cut
 * off. Go's HTTP server does the same. RFC 9112 §9.3.
 */
import type { Duplex, Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';

const MAX_DISCARDED_BYTES = 256 * 1024;

/** @param within milliseconds for the rest to arrive */
export function discardRest(body: Readable, socket: Duplex, clock: Clock, within: number): void {
  let left = MAX_DISCARDED_BYTES;
  const timer = clock.after(within, () => socket.destroy());
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  body.once('end', () => timer.cancel());
  body.once('close', () => timer.cancel());
  body.resume();
}
