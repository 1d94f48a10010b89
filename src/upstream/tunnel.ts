/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. A connection of its own
 * for each, opened with Node's own client, because pooled clients either destroy what they do not know or lose
 * the API server's refusal.
 * RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Duplex } from 'node:stream';
import type { Exchange, Upgrade } from '../pipeline/exchange.ts';
import type { RelayHooks, RelayResult, Tunneller, UpstreamRequest } from '../pipeline/upstream.ts';
import { joinStreams } from './join-streams.ts';
import { openUpgrade, type UpgradeOptions } from './open-upgrade.ts';
import { relayRefusal } from './refused-upgrade.ts';
import { GOING_AWAY, WebSocketFrames } from './websocket-frames.ts';

export interface OwnedTunneller extends Tunneller {
  /** Done when no tunnel is open. */
  idle(): Promise<void>;
  /** Breaks every tunnel off. */
  destroy(): void;
}

export function createTunneller(options: UpgradeOptions): OwnedTunneller {
  const open = new Map<AbortController, Promise<unknown>>();
  return {
    tunnel(request, exchange, upgrade, hooks) {
      const ending = new AbortController();
      const onEnd = (): void => ending.abort(new Error("the user's access has ended"));
      const forget = (): void => {
        open.delete(ending);
        request.ending?.offLeave(onEnd);
      };
      request.ending?.onLeave(onEnd);
      if (request.ending?.left) onEnd();
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
  options: UpgradeOptions,
  request: UpstreamRequest,
  exchange: Exchange,
  upgrade: Upgrade,
  hooks: RelayHooks,
  ending: AbortSignal,
): Promise<RelayResult> {
  const { clock, timeouts } = options;
  const signal = AbortSignal.any([exchange.signal, ending]);
  const opened = await openUpgrade(options, request, upgrade, signal);
  switch (opened.kind) {
    case 'left':
      // The client may have closed only its own half.
      if (!exchange.response.closed) exchange.response.destroy();
      return { status: 0, aborted: true };
    case 'refused':
      return relayRefusal(opened.response, exchange.response, hooks, {
        clock,
        patience: timeouts.response,
        signal,
      });
    case 'upgraded': {
      upgrade.socket.write(opened.head, 'latin1');
      hooks.onHead(101);
      upgrade.socket.write(opened.rest);
      opened.socket.write(upgrade.head);
      const lastWords = lastWordsOf(request, upgrade, opened.socket, opened.rest);
      const options = { clock, signal: ending, ...(lastWords && { lastWords }) };
      const aborted = await joinStreams(upgrade.socket, opened.socket, options);
      return { status: 101, aborted };
    }
  }
}

/** Of a watch over WebSocket, which ends cleanly between two frames. */
function lastWordsOf(
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
