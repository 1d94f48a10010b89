/**
 * What both protocols get from their listener, and the guard around the handler: an unexpected error is a 500
 * for one client, never the end of the process.
 */

import type { Duplex } from 'node:stream';
import { StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';
import type { Cancellation } from '../lib/cancellation.ts';
import type { ClientCertificate } from '../lib/client-certificate.ts';
import type { Exchange, ResponseWriter } from '../lib/exchange.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { TimeoutQueue } from '../lib/timeout-queue.ts';
import { writeStatus } from './status-writer.ts';
import type { UnfinishedHeads } from './unfinished-heads.ts';

export interface ListenerTimeouts {
  /** Milliseconds for the TLS handshake and for a whole request head. */
  readonly header: number;
  /** Milliseconds that an idle connection waits for the next request. */
  readonly idle: number;
  /** Milliseconds for a client to read the next bytes of its response. */
  readonly stall: number;
}

export interface ServeContext extends Pick<Runtime, 'clock' | 'logger' | 'random'> {
  readonly serve: (exchange: Exchange) => Promise<void>;
  /** The client's certificate if it is a credential; the same for all requests of a connection. */
  readonly certificateOf: (socket: Duplex) => ClientCertificate | undefined;
  readonly timeouts: ListenerTimeouts;
  /** The idle timeouts of all connections. */
  readonly idleQueue: TimeoutQueue;
  /** The stall timeouts of all responses. */
  readonly stallQueue: TimeoutQueue;
  /** The largest request head, in bytes. */
  readonly headerBytes: number;
  /** Cancelled when clients are asked to open their next connection elsewhere; requests are still served. */
  readonly draining: Cancellation;
  /** Cancelled when the listener stops. */
  readonly stopping: Cancellation;
  readonly heads: UnfinishedHeads;
}

/**
 * Serves one exchange. An error, or a handler that ends without a response, becomes a Status. Not `async`:
 * every request passes here, and an async function costs twice as much.
 */
export function serveGuarded(exchange: Exchange, context: ServeContext): void {
  const fail = (error: unknown): void => refuse(exchange.response, error, context);
  try {
    void context.serve(exchange).then(() => {
      if (lacksResponse(exchange)) fail(new Error('the handler ended without a response'));
    }, fail);
  } catch (error) {
    fail(error);
  }
}

function lacksResponse({ upgrade, response }: Exchange): boolean {
  return upgrade === undefined && !response.closed && !response.headersSent;
}

/** Refuses a request that did not reach the proxy. The log entry has the audit ID of the response. */
export function refuse(
  response: ResponseWriter,
  error: unknown,
  { random, logger }: Pick<ServeContext, 'random' | 'logger'>,
): void {
  const auditID = random.uuid();
  if (error instanceof StatusError)
    logger.info({ auditID, code: error.code, cause: error.cause }, `refused: ${error.message}`);
  else logger.error({ auditID, error }, 'serving a request failed');
  writeStatus(response, toStatus(error, auditID), auditID);
}
