/**
 * Forwards the response of an API server that does not upgrade, usually a 403. Then both connections close.
 */
import type { IncomingMessage } from 'node:http';
import { InactivityTimers } from '../http1/inactivity-timer.ts';
import type { Clock } from '../lib/clock.ts';
import { fromRawHeaders } from '../lib/header-list.ts';
import type { RelayHooks, RelayResult, ResponseWriter } from '../pipeline/ports.ts';
import { isWithoutBody, responseHeaders } from './header-rules.ts';

export interface RefusalOptions {
  readonly clock: Clock;
  /** Milliseconds between two chunks of the response. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** As in `UpstreamRequest`. */
  readonly locationPrefix?: string | undefined;
}

export function relayRefusal(
  refusal: IncomingMessage,
  response: ResponseWriter,
  hooks: RelayHooks,
  { clock, timeout, signal, locationPrefix }: RefusalOptions,
): Promise<RelayResult> {
  const { promise, resolve } = Promise.withResolvers<RelayResult>();
  const status = refusal.statusCode ?? 0;
  const empty = isWithoutBody(status);
  const idle = new InactivityTimers(clock, timeout).start(() => refusal.destroy());
  const onLeave = (): void => {
    refusal.destroy();
  };
  signal.addEventListener('abort', onLeave, { once: true });
  refusal
    .on('data', (chunk: Buffer) => {
      idle.touch();
      if (empty || response.closed || response.write(chunk)) return;
      refusal.pause();
      idle.hold();
      response.onDrain(() => {
        idle.release();
        refusal.resume();
      });
    })
    .on('end', () => {
      if (!response.closed) response.end();
    })
    // Its break is told by 'close' as well; unheard, it would end the process.
    .on('error', onLeave)
    .on('close', () => {
      idle.stop();
      signal.removeEventListener('abort', onLeave);
      const aborted = !refusal.complete || signal.aborted;
      if (aborted && !response.closed) response.destroy();
      resolve({ status, aborted });
    });
  const headers = fromRawHeaders(refusal.rawHeaders);
  response.writeHead(status, responseHeaders(status, headers, locationPrefix));
  hooks.onHead(status);
  return promise;
}
