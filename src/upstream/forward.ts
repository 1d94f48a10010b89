/**
 * Forwards one request and relays its response. Redirects are passed to the client and never followed: that
 * would send Stonegate's credential to their target (CVE-2020-8559).
 */
import type { Forwarder, UpstreamRequest } from '../kubernetes/upstream-ports.ts';
import type { Exchange } from '../lib/exchange.ts';
import { callUpstream } from './call.ts';
import type { CallContext, Sending } from './call-request.ts';
import { isSafe } from './call-state.ts';
import { ClientResponse, endOf } from './client-response.ts';
import { requestFraming } from './header-rules.ts';
import { RequestBody } from './request-body.ts';

export interface ForwarderOptions {
  readonly context: CallContext;
  readonly timeouts: { readonly response: number; readonly body: number };
  readonly maxBodyBytes: number;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  return {
    forward(request, exchange, hooks) {
      const { framing, body } = contentOf(request, exchange, options);
      const sending = {
        framing,
        body,
        cancellation: endOf(exchange, request),
        // What changes something is cancelled, as every Go proxy does it: it may still be stopped.
        discardable: !request.longRunning && isSafe(request.method),
      };
      const response = new ClientResponse(exchange, request, hooks);
      return callUpstream(options.context, request, sending, response);
    },
  };
}

/** The body that was read before, or else the client's. */
function contentOf(
  { body: read, longRunning }: UpstreamRequest,
  exchange: Exchange,
  { timeouts, maxBodyBytes, context: { clock } }: ForwarderOptions,
): Pick<Sending, 'framing' | 'body'> {
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
