/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. A connection of its
 * own for each, opened with Node's own client, because pooled clients either destroy what they do not know or
 * lose the API server's refusal. RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Duplex } from 'node:stream';
import type { Semaphore } from '../lib/semaphore.ts';
import type {
  Exchange,
  RelayHooks,
  RelayResult,
  Tunneller,
  Upgrade,
  UpstreamRequest,
} from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { heldBytes } from './call-request.ts';
import { HeldRefusal } from './held-refusal.ts';
import type { ImpersonationRefusals } from './impersonation-refusal.ts';
import { joinStreams } from './join-streams.ts';
import { type Opened, openUpgrade, type UpgradeOptions } from './open-upgrade.ts';
import { relayRefusal } from './refused-upgrade.ts';
import { GOING_AWAY, WebSocketFrames } from './websocket-frames.ts';

export interface TunnelOptions extends UpgradeOptions {
  readonly limits: AccountLimits;
  readonly refusals: ImpersonationRefusals;
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

/** A held response reports its head when it is sent. */
const SILENT: RelayHooks = { onHead() {} };

const LEFT: Opened = { kind: 'left' };

async function runTunnel(
  options: TunnelOptions,
  request: UpstreamRequest,
  exchange: Exchange,
  upgrade: Upgrade,
  hooks: RelayHooks,
  ending: AbortSignal,
): Promise<RelayResult> {
  const { clock, timeouts, limits } = options;
  const gone = new AbortController();
  const unwatch = watchForLeaving(upgrade.socket, () => gone.abort());
  const signal = AbortSignal.any([exchange.signal, gone.signal, ending]);
  let acquired: Semaphore | undefined;
  try {
    if (await begin(options, request, signal)) {
      const limiter = limits.connectionsOf(request.account);
      if (await limiter.acquire(heldBytes(request), signal)) acquired = limiter;
    }
    const opened = acquired === undefined ? LEFT : await openUpgrade(options, request, upgrade, signal);
    unwatch();
    if (opened.kind === 'left') {
      if (request.ending?.cancelled && !gone.signal.aborted && !exchange.signal.aborted)
        throw request.ending.refusal();
      // The client may have closed only its own half.
      if (!exchange.response.closed) exchange.response.destroy();
      return { status: 0, aborted: true };
    }
    if (opened.kind === 'refused') {
      const { locationPrefix } = request;
      const relayed = { clock, timeout: timeouts.response, signal, locationPrefix };
      if (request.servedByAPIServer !== true || request.sender.kind === 'client')
        return await relayRefusal(opened.response, exchange.response, hooks, relayed);
      const { refusals } = options;
      const { response } = exchange;
      const held = new HeldRefusal({ response, hooks, read: (body) => refusals.read(body, request.headers) });
      const result = await relayRefusal(opened.response, held, SILENT, relayed);
      if (held.refusal !== undefined) throw refusals.report(held.refusal);
      return result;
    }
    acquired?.release();
    acquired = undefined;
    upgrade.socket.write(opened.head, 'latin1');
    hooks.onHead(101);
    upgrade.socket.write(opened.rest);
    opened.socket.write(upgrade.head);
    const lastBytes = createLastBytes(request, upgrade, opened.socket, opened.rest);
    const joined = { clock, signal: ending, ...(lastBytes && { lastBytes }) };
    const aborted = await joinStreams(upgrade.socket, opened.socket, joined);
    return { status: 101, aborted };
  } finally {
    unwatch();
    acquired?.release();
  }
}

/** @returns false if the client has left */
async function begin(
  { limits }: TunnelOptions,
  request: UpstreamRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const limiter = limits.longRunningLimiterOf(request.account);
  if (limiter === undefined) return true;
  const begun = await limiter.acquire(heldBytes(request), signal);
  if (begun) limiter.releaseDelayed();
  return begun;
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
