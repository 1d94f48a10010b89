/**
 * Two ends made one: bytes go both ways with backpressure, and nothing is left open. An end passes on to the
 * other side after what was sent before it; a break passes on at once. There is no idle limit: a port-forward
 * may be silent for hours.
 */
import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../lib/clock.ts';

/** Milliseconds the second side has to end after the first did. */
const LINGER = 10_000;
const KEEP_ALIVE_PROBE = 30_000;

export interface JoinOptions {
  readonly clock: Clock;
  /** Breaks both off. */
  readonly signal: AbortSignal;
  /** What the client is sent then, so that it sees an end in good order; undefined if it cannot be sent now. */
  readonly lastWords?: () => Buffer | undefined;
}

/** @returns, once both are closed, whether one broke instead of ending */
export function joinStreams(
  client: Duplex,
  upstream: Duplex,
  { clock, signal, lastWords }: JoinOptions,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let broken = false;
  let open = 2;
  let linger: Timer | undefined;

  function breakOff(): void {
    broken = true;
    client.destroy();
    upstream.destroy();
  }

  function onAbort(): void {
    const words = lastWords?.();
    if (words === undefined || client.destroyed) {
      breakOff();
      return;
    }
    upstream.unpipe(client);
    // Read, its end is noticed.
    upstream.resume();
    client.end(words);
    upstream.end();
    onEnd();
  }

  function onEnd(): void {
    linger ??= clock.after(LINGER, breakOff);
  }

  function attach(from: Duplex, to: Duplex): void {
    from.once('error', breakOff).once('end', onEnd);
    from.once('close', () => {
      if (from.readableEnded) drain(to);
      else if (!to.destroyed) breakOff();
      open -= 1;
      if (open > 0) return;
      linger?.cancel();
      signal.removeEventListener('abort', onAbort);
      resolve(broken);
    });
    keepOpen(from);
    from.pipe(to);
  }

  signal.addEventListener('abort', onAbort, { once: true });
  attach(client, upstream);
  attach(upstream, client);
  if (signal.aborted || client.destroyed || upstream.destroyed) breakOff();
  return promise;
}

/** What still comes has nobody to go to; reading it is how its end is noticed. */
function drain(stream: Duplex): void {
  stream.unpipe();
  stream.resume();
  stream.end();
}

function keepOpen(stream: Duplex): void {
  if (!(stream instanceof net.Socket)) return;
  stream.setTimeout(0);
  stream.setNoDelay(true);
  stream.setKeepAlive(true, KEEP_ALIVE_PROBE);
}
