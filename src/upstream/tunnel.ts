/**
 * Upgraded connections: exec, attach, port-forward and cp, over SPDY/3.1 or WebSocket. A connection of its own
 * for each, opened with Node's own client, because pooled clients either destroy what they do not know or lose
 * the API server's refusal.
 * RFC 9110 §7.8; RFC 6455 §4.
 */
import type { Tunneller } from '../pipeline/upstream.ts';
import { joinStreams } from './join-streams.ts';
import { openUpgrade, type UpgradeOptions } from './open-upgrade.ts';
import { relayRefusal } from './refused-upgrade.ts';

export interface OwnedTunneller extends Tunneller {
  /** Done when no tunnel is open. */
  idle(): Promise<void>;
  /** Breaks every tunnel off. */
  destroy(): void;
}

export function createTunneller(options: UpgradeOptions): OwnedTunneller {
  const open = new Set<Promise<unknown>>();
  const ending = new AbortController();

  const tunnel: Tunneller['tunnel'] = async (request, exchange, upgrade, hooks) => {
    const signal = AbortSignal.any([exchange.signal, ending.signal]);
    const opened = await openUpgrade(options, request, upgrade, signal);
    if (opened.kind === 'left') {
      // The client may have closed only its own half.
      if (!exchange.response.closed) exchange.response.destroy();
      return { status: 0, aborted: true };
    }
    if (opened.kind === 'refused') {
      const { clock, timeouts } = options;
      return relayRefusal(opened.response, exchange.response, hooks, {
        clock,
        patience: timeouts.response,
        signal,
      });
    }
    upgrade.socket.write(opened.head, 'latin1');
    hooks.onHead(101);
    upgrade.socket.write(opened.rest);
    opened.socket.write(upgrade.head);
    const aborted = await joinStreams(upgrade.socket, opened.socket, {
      clock: options.clock,
      signal: ending.signal,
    });
    return { status: 101, aborted };
  };

  return {
    tunnel(request, exchange, upgrade, hooks) {
      const running = tunnel(request, exchange, upgrade, hooks);
      const ended = running.then(forget, forget);
      open.add(ended);
      function forget(): void {
        open.delete(ended);
      }
      return running;
    },
    async idle() {
      while (open.size > 0) await Promise.all(open);
    },
    destroy() {
      ending.abort(new Error('the connection to the API server is being given up'));
    },
  };
}
