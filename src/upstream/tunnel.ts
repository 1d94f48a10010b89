/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. Each has a connection
 * of its own. RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Duplex } from 'node:stream';
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import { anyOf, fromAbortSignal } from '../lib/cancellation.ts';
import type { HeaderField } from '../lib/header-list.ts';
import type {
  Exchange,
  RelayHooks,
  RelayResult,
  Tunneller,
  Upgrade,
  UpstreamRequest,
} from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { callUpstream } from './call.ts';
import type { Flow } from './call-request.ts';
import { ClientResponse } from './client-response.ts';
import type { SelectPools } from './connection-pools.ts';
import { upgradeFields } from './header-rules.ts';
import { joinStreams } from './join-streams.ts';
import { UpgradeSender } from './upgrade.ts';
import { GOING_AWAY, WebSocketFrames } from './websocket-frames.ts';

export interface TunnelOptions {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  readonly responseTimeouts: InactivityTimers;
}

export interface OwnedTunneller extends Tunneller {
  /** Done when no tunnel is open. */
  idle(): Promise<void>;
  /** Breaks every tunnel off. */
  destroy(): void;
}

export function createTunneller(options: TunnelOptions): OwnedTunneller {
  const open = new Map<AbortController, Promise<unknown>>();
  return {
    tunnel(request, exchange, upgrade, hooks) {
      const ending = new AbortController();
      const onEnd = (): void => ending.abort(new Error("the user's access has ended"));
      const forget = (): void => {
        open.delete(ending);
        request.ending?.offCancel(onEnd);
      };
      request.ending?.onCancel(onEnd);
      if (request.ending?.cancelled) onEnd();
      const running = runTunnel(options, request, exchange, upgrade, hooks, ending.signal);
      open.set(ending, running.then(forget, forget));
      return running;
    },
    async idle() {
      while (open.size > 0) await Promise.all(open.values());
    },
    destroy() {
      for (const ending of open.keys()) ending.abort(new Error('the API server is being given up'));
    },
  };
}

async function runTunnel(
  { selectPools, limits, responseTimeouts }: TunnelOptions,
  request: UpstreamRequest,
  exchange: Exchange,
  upgrade: Upgrade,
  hooks: RelayHooks,
  ending: AbortSignal,
): Promise<RelayResult> {
  const { account, sender, method, target, headers } = request;
  const { longRunning: context, connection, token } = selectPools(sender);
  const fields = upgradeFields(headers, token);
  const { protocol } = upgrade;
  const pool = new UpgradeSender({ ...context, method, target, fields, protocol, connection });
  const gone = new AbortController();
  const unwatch = watchForLeaving(upgrade.socket, () => gone.abort());
  const cancellation = anyOf(fromAbortSignal(exchange.signal), fromAbortSignal(gone.signal));
  const client = { ...exchange, cancellation };
  const result = await callUpstream(
    { ...context, pool },
    {
      method,
      target,
      headers,
      token,
      framing: 'none',
      openings: limits.longRunningLimiterOf(account),
      connections: limits.connectionsOf(account),
      discardable: false,
      // What is asked for may be a command.
      repeatable: false,
      refusalIsClients: request.proxied || sender.kind === 'client',
      mayRefuseStonegate: request.servedByAPIServer === true && sender.kind === 'stonegate',
      timeouts: responseTimeouts,
      cancellation: anyOf(cancellation, fromAbortSignal(ending)),
    },
    new RefusedUpgrade(client, request, hooks),
  ).finally(unwatch);
  const { switched } = pool;
  if (switched === undefined) return result;
  upgrade.socket.write(switched.head, 'latin1');
  hooks.onHead(101);
  upgrade.socket.write(switched.rest);
  switched.socket.write(upgrade.head);
  const lastBytes = createLastBytes(request, upgrade, switched.socket, switched.rest);
  const joined = { clock: context.clock, signal: ending, ...(lastBytes && { lastBytes }) };
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

/** Of a watch over WebSocket, which ends cleanly between two frames. */
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
