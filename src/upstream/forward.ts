/**
 * Forwards one request and relays its response. Redirects are passed to the client and never followed: that
 * would send Stonegate's credential to their target (CVE-2020-8559).
 */
import type { InactivityTimers } from '../http1/inactivity-timer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Exchange, Forwarder, UpstreamRequest } from '../pipeline/ports.ts';
import type { AccountLimits } from './account-limits.ts';
import { callUpstream } from './call.ts';
import { type CallRequest, isSafe } from './call-request.ts';
import { ClientResponse, endOf } from './client-response.ts';
import type { SelectPools } from './connection-pools.ts';
import { requestFraming } from './header-rules.ts';
import { RequestBody } from './request-body.ts';

export interface ForwarderOptions {
  readonly selectPools: SelectPools;
  readonly limits: AccountLimits;
  /** For responses to requests that are not long-running. */
  readonly responseTimeouts: InactivityTimers;
  readonly timeouts: { readonly response: number; readonly body: number };
  readonly maxBodyBytes: number;
  readonly clock: Clock;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { selectPools, limits, responseTimeouts } = options;
  return {
    forward(request, exchange, hooks) {
      const { account, longRunning, sender, method, target, headers, proxied, onForbidden, onCreated } =
        request;
      const pools = selectPools(sender);
      const { framing, body } = contentOf(request, exchange, options);
      return callUpstream(
        longRunning ? pools.longRunning : pools.short,
        {
          method,
          target,
          headers,
          token: pools.token,
          framing,
          body,
          ...(longRunning
            ? { openings: limits.longRunningLimiterOf(account) }
            : { connections: limits.connectionsOf(account), timeouts: responseTimeouts }),
          // What changes something is cancelled, as every Go proxy does it: it may still be stopped.
          discardable: !longRunning && isSafe(method),
          repeatable: framing === 'none' && isSafe(method),
          refusalIsClients: proxied || sender.kind === 'client',
          mayRefuseStonegate: request.servedByAPIServer === true && sender.kind === 'stonegate',
          cancellation: endOf(exchange, request),
          onForbidden,
          onCreated,
        },
        new ClientResponse(exchange, request, hooks),
      );
    },
  };
}

/** The body that was read before, or else the client's. */
function contentOf(
  { body: read, longRunning }: UpstreamRequest,
  exchange: Exchange,
  { timeouts, maxBodyBytes, clock }: ForwarderOptions,
): Pick<CallRequest, 'framing' | 'body'> {
  if (read !== undefined)
    return read.length === 0 ? { framing: 'none' } : { framing: read.length, body: read };
  const framing = requestFraming(exchange);
  if (framing === 'none') return { framing };
  const body = (onFault: (fault: Error) => void) =>
    new RequestBody(exchange.body, {
      clock,
      maxBytes: maxBodyBytes,
      clientStall: timeouts.body,
      // Without a limit a client that sends one byte at a time would hold a connection for days.
      // kube-apiserver limits the whole request to 60 s.
      whole: longRunning ? Number.POSITIVE_INFINITY : timeouts.response,
      // For long-running requests too: an unread body hides that the client has disconnected.
      upstreamStall: timeouts.response,
      responseBegun: () => exchange.response.headersSent,
      onFault,
    });
  return { framing, body };
}
