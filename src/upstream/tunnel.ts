/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. Each has a connection
 * of its own. RFC 9110 §7.8; RFC 6455 §4.
 */
import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { RelayHooks, RelayResult, Tunneller, UpstreamRequest } from '../kubernetes/upstream-ports.ts';
import { anyOf, type Cancellation, CancellationSource, fromAbortSignal } from '../lib/cancellation.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Exchange, Upgrade } from '../lib/exchange.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { callUpstream } from './call.ts';
import type { CallContext, Flow, Sending } from './call-request.ts';
import { ClientResponse } from './forward.ts';
import { UpgradeSender } from './upgrade.ts';

/** Milliseconds the second side has to end after the first did. */
const LINGER = 10_000;
const KEEP_ALIVE_PROBE = 30_000;

/** @param destroyed cancelled to break every tunnel off */
export function createTunneller(context: CallContext, destroyed: Cancellation): Tunneller {
  return {
    async tunnel(request, exchange, upgrade, hooks) {
      const inFlight = context.unpooled.enter();
      const ending = request.ending === undefined ? destroyed : anyOf(request.ending, destroyed);
      try {
        return await runTunnel(context, request, exchange, upgrade, hooks, ending);
      } finally {
        inFlight.release();
      }
    },
  };
}

async function runTunnel(
  context: CallContext,
  request: UpstreamRequest,
  exchange: Exchange,
  upgrade: Upgrade,
  hooks: RelayHooks,
  ending: Cancellation,
): Promise<RelayResult> {
  const sender = new UpgradeSender(context, request, upgrade.protocol);
  const gone = new CancellationSource();
  const unwatch = watchForDisconnect(upgrade.socket, () => gone.cancel());
  const cancellation = anyOf(fromAbortSignal(exchange.signal), gone);
  const sending: Sending = {
    framing: 'none',
    upgrade: sender,
    cancellation: anyOf(cancellation, ending),
    discardable: false,
  };
  const response = new RefusedUpgrade({ ...exchange, cancellation }, request, hooks);
  const result = await callUpstream(context, request, sending, response).finally(unwatch);
  const { switched } = sender;
  if (switched === undefined) return result;
  upgrade.socket.write(switched.head, 'latin1');
  hooks.onHead(101);
  upgrade.socket.write(switched.rest);
  switched.socket.write(upgrade.head);
  const aborted = await joinStreams(upgrade.socket, switched.socket, context.clock, ending);
  return { status: 101, aborted };
}

/** The client receives any other response than the switch itself. */
class RefusedUpgrade extends ClientResponse {
  #isSwitched = false;

  override head(status: number, headers: HeaderField[], flow: Flow): void {
    if (status === 101) this.#isSwitched = true;
    else super.head(status, headers, flow);
  }

  override end(): void {
    if (!this.#isSwitched) super.end();
  }
}

/**
 * A connection that waits to be upgraded is not read, and so does not report that it has ended. Reading
 * nothing (`read(0)`) shows the end and leaves the bytes.
 */
function watchForDisconnect(socket: Duplex, onDisconnect: () => void): () => void {
  const look = (): void => {
    socket.read(0);
  };
  // The error listener stays: without one an error would end the process.
  socket.on('readable', look).on('end', onDisconnect).on('close', onDisconnect).on('error', onDisconnect);
  return () => socket.off('readable', look).off('end', onDisconnect).off('close', onDisconnect);
}

/**
 * Joins two streams: bytes flow both ways with backpressure, and both are closed in the end. If one side
 * ends, the other ends after the bytes before it; an error closes both at once. There is no idle timeout,
 * since a port-forward may be silent for hours.
 *
 * @param ending closes both streams
 * @returns, once both are closed, whether one broke instead of ending
 */
function joinStreams(client: Duplex, upstream: Duplex, clock: Clock, ending: Cancellation): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let broken = false;
  let open = 2;
  let linger: Timer | undefined;

  function breakOff(): void {
    broken = true;
    client.destroy();
    upstream.destroy();
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
      ending.offCancel(breakOff);
      resolve(broken);
    });
    keepOpen(from);
    from.pipe(to);
  }

  ending.onCancel(breakOff);
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
