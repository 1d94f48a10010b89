/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. Each has a connection
 * of its own. RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Duplex } from 'node:stream';
import type { RelayHooks, RelayResult, Tunneller, UpstreamRequest } from '../kubernetes/upstream-ports.ts';
import { anyOf, type Cancellation, fromAbortSignal } from '../lib/cancellation.ts';
import type { Exchange, Upgrade } from '../lib/exchange.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { callUpstream } from './call.ts';
import type { CallContext, Flow, Sending } from './call-request.ts';
import { ClientResponse } from './client-response.ts';
import { joinStreams } from './join-streams.ts';
import { UpgradeSender } from './upgrade.ts';
import { GOING_AWAY, WebSocketFrames } from './websocket-frames.ts';

/** @param destroyed aborted to break every tunnel off */
export function createTunneller(context: CallContext, destroyed: AbortSignal): Tunneller {
  const destroying = fromAbortSignal(destroyed);
  return {
    async tunnel(request, exchange, upgrade, hooks) {
      const inFlight = context.unpooled.enter();
      const ending = request.ending === undefined ? destroying : anyOf(request.ending, destroying);
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
  const gone = new AbortController();
  const unwatch = watchForLeaving(upgrade.socket, () => gone.abort());
  const cancellation = anyOf(fromAbortSignal(exchange.signal), fromAbortSignal(gone.signal));
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
  const lastBytes = createLastBytes(request, upgrade, switched.socket, switched.rest);
  const joined = { clock: context.clock, ending, ...(lastBytes && { lastBytes }) };
  return { status: 101, aborted: await joinStreams(upgrade.socket, switched.socket, joined) };
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
function watchForLeaving(socket: Duplex, onLeave: () => void): () => void {
  const look = (): void => {
    socket.read(0);
  };
  // The error listener stays: without one an error would end the process.
  socket.on('readable', look).on('end', onLeave).on('close', onLeave).on('error', onLeave);
  return () => socket.off('readable', look).off('end', onLeave).off('close', onLeave);
}

/** Ends a watch over WebSocket cleanly, between two frames. */
function createLastBytes(
  { ending }: UpstreamRequest,
  { protocol }: Upgrade,
  upstream: Duplex,
  rest: Buffer,
): (() => Buffer | undefined) | undefined {
  if (!ending?.clean || protocol !== 'websocket') return undefined;
  const frames = new WebSocketFrames();
  frames.read(rest);
  upstream.on('data', (bytes: Buffer) => frames.read(bytes));
  return () => (frames.complete ? GOING_AWAY : undefined);
}
