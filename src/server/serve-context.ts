/**
 * What both protocols need of the listener they belong to, and the guard around the function that serves: a
 * fault of ours is a 500 for one client, never the end of the process.
 */
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../api/credentials.ts';
import { StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Exchange, ResponseWriter } from '../pipeline/ports.ts';
import type { OpenAnswers } from './answer-state.ts';
import { writeStatus } from './status-writer.ts';

export interface ListenerTimeouts {
  /** For the TLS handshake and for a whole request head, in milliseconds. */
  readonly header: number;
  /** For the next request on a kept connection, in milliseconds. */
  readonly idle: number;
  /** For a client to take the next bytes of its answer, in milliseconds. */
  readonly stall: number;
}

export interface ServeContext {
  readonly serve: (exchange: Exchange) => Promise<void>;
  /** What the client has shown as its credential, the same for all requests of a connection. */
  readonly certificateOf: (socket: Duplex) => ClientCertificate | undefined;
  readonly timeouts: ListenerTimeouts;
  /** The most a request head may weigh. */
  readonly headerBytes: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Aborted when the listener stops. */
  readonly draining: AbortSignal;
  readonly open: OpenAnswers;
}

/** Serves one exchange; whatever it throws, and an answer it forgot, becomes a Status. Not `async`: that costs twice this. */
export function serveGuarded(exchange: Exchange, context: ServeContext): void {
  const fail = (error: unknown): void => refuse(exchange.response, error, context);
  try {
    void context.serve(exchange).then(() => {
      if (isForgotten(exchange)) fail(new Error('the request was served without an answer'));
    }, fail);
  } catch (error) {
    fail(error);
  }
}

function isForgotten({ upgrade, response }: Exchange): boolean {
  return upgrade === undefined && !response.closed && !response.headersSent;
}

/** Answers what never reached the pipeline; the log has it under the audit ID that the client is told. */
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
