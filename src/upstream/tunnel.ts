/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. A connection of its own
 * for each, opened with Node's own client, because pooled clients either destroy what they do not know or lose
 * the API server's refusal.
 * RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Exchange, Upgrade } from '../pipeline/exchange.ts';
import type { RelayHooks, RelayResult, Tunneller, UpstreamRequest } from '../pipeline/upstream.ts';
import { joinStreams } from './join-streams.ts';
import { openUpgrade, type UpgradeOptions } from './open-upgrade.ts';
import { HeldRefusal, type OwnRefusals } from './own-refusal.ts';
import { relayRefusal } from './refused-upgrade.ts';

export interface OwnedTunneller extends Tunneller {
  /** Done when no tunnel is open. */
  idle(): Promise<void>;
  /** Breaks every tunnel off. */
  destroy(): void;
}

export interface TunnellerOptions extends UpgradeOptions {
  readonly refusals: OwnRefusals;
}

export function createTunneller(options: TunnellerOptions): OwnedTunneller {
  const open = new Map<AbortController, Promise<unknown>>();
  return {
    tunnel(request, exchange, upgrade, hooks) {
      const ending = new AbortController();
      const forget = (): boolean => open.delete(ending);
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

/** What is held tells of its head when it is sent. */
const SILENT: RelayHooks = { onHead() {} };

async function runTunnel(
  options: TunnellerOptions,
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
    case 'refused': {
      const relayed = { clock, patience: timeouts.response, signal };
      if (request.ownAnswer !== true || request.sender.kind === 'client')
        return relayRefusal(opened.response, exchange.response, hooks, relayed);
      const { refusals } = options;
      const held = new HeldRefusal(exchange.response, hooks, (body) => refusals.read(body, request.headers));
      const result = await relayRefusal(opened.response, held, SILENT, relayed);
      if (held.refusal !== undefined) throw refusals.report(held.refusal);
      return result;
    }
    case 'upgraded': {
      upgrade.socket.write(opened.head, 'latin1');
      hooks.onHead(101);
      upgrade.socket.write(opened.rest);
      opened.socket.write(upgrade.head);
      const aborted = await joinStreams(upgrade.socket, opened.socket, { clock, signal: ending });
      return { status: 101, aborted };
    }
  }
}
