/**
 * Joins two streams: bytes flow both ways with backpressure, and both are closed in the end. If one side
 * ends, the other ends after the bytes before it; an error closes both at once. There is no idle timeout,
 * since a port-forward may be silent for hours.
 */
import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cancellation } from '../lib/cancellation.ts';
import type { Clock, Timer } from '../lib/clock.ts';

/** Milliseconds the second side has to end after the first did. */
const LINGER = 10_000;
const KEEP_ALIVE_PROBE = 30_000;

export interface JoinOptions {
  readonly clock: Clock;
  /** Closes both streams. */
  readonly ending: Cancellation;
  /** The bytes sent to the client before the close, such as a close frame; undefined if none can be sent. */
  readonly lastBytes?: () => Buffer | undefined;
}

/** @returns, once both are closed, whether one broke instead of ending */
export function joinStreams(
  client: Duplex,
  upstream: Duplex,
  { clock, ending, lastBytes }: JoinOptions,
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

  function onCancel(): void {
    const bytes = lastBytes?.();
    if (bytes === undefined || client.destroyed) {
      breakOff();
      return;
    }
    upstream.unpipe(client);
    // The end of a stream is emitted only if the stream is read.
    upstream.resume();
    client.end(bytes);
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
      ending.offCancel(onCancel);
      resolve(broken);
    });
    keepOpen(from);
    from.pipe(to);
  }

  ending.onCancel(onCancel);
  attach(client, upstream);
  attach(upstream, client);
  if (ending.cancelled || client.destroyed || upstream.destroyed) breakOff();
  return promise;
}

/** Discards further bytes. The stream is read on, since its end is emitted only then. */
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
