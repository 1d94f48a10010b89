/**
 * Reads a review that an API server posts (one path, POST, JSON, bounded), and sends the response.
 */

import { methodNotAllowed, pathNotFound } from '../errors/status-error.ts';
import { JSON_TYPE } from '../kubernetes/meta-v1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Exchange } from '../lib/exchange.ts';
import { bodyType } from './request/body-type.ts';
import { type BodyLimits, readBody } from './request/read-body.ts';

export interface PostedReviewOptions extends BodyLimits {
  readonly path: string;
  /** What is posted, as a refusal names it. */
  readonly what: string;
  readonly clock: Clock;
}

/** @throws StatusError NotFound, MethodNotAllowed, MediaTypeUnsupported, BodyTooLarge, BodyTimeout */
export async function postedBody(exchange: Exchange, options: PostedReviewOptions): Promise<Buffer> {
  assertPosted(exchange, options.path);
  return readBody(exchange, options, options.clock);
}

/** @throws StatusError NotFound, MethodNotAllowed, MediaTypeUnsupported */
export function assertPosted({ target, method, headers }: Exchange, path: string): void {
  const [requested] = target.split('?', 1);
  if (requested !== path) throw pathNotFound();
  if (method !== 'POST') throw methodNotAllowed(['POST']);
  bodyType(headers, [[JSON_TYPE, 'json']]);
}

export function sendReview({ response }: Exchange, body: string, auditID: string): void {
  if (response.closed || response.headersSent) return;
  const bytes = Buffer.from(body);
  response.writeHead(200, [
    ['Content-Type', JSON_TYPE],
    ['Content-Length', String(bytes.length)],
    ['Cache-Control', 'no-store'],
    ['Audit-Id', auditID],
  ]);
  response.end(bytes);
}
