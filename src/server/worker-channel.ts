/**
 * Requests of the primary to its workers over the channel of `node:cluster`: each has an ID, and its response
 * the same one.
 */
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { Readiness } from './admin.ts';

export type WorkerRequest = 'readiness' | 'metrics' | 'usage';

/** One end of the channel: a `Worker` of the primary, or the worker's `process`. */
export interface ChannelEnd {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: object): unknown;
}

export interface WorkerHandlers {
  readonly readiness: () => readonly Readiness[];
  /** Counters and gauges in the form that the primary's `aggregate` takes. */
  readonly metrics: () => Promise<unknown>;
  /** In the form that the primary's `usage` takes. */
  readonly usage: () => unknown;
}

let lastID = 0;

/**
 * Sends a request to a worker.
 *
 * @param timeout milliseconds
 * @returns undefined if the worker does not respond in time, or fails
 */
export function requestFromWorker(
  worker: ChannelEnd,
  request: WorkerRequest,
  clock: Clock,
  timeout: number,
): Promise<unknown> {
  lastID += 1;
  const id = lastID;
  return new Promise((resolve) => {
    const settle = (response: unknown) => {
      worker.off('message', listener);
      timer.cancel();
      resolve(response);
    };
    const listener = (message: unknown) => {
      if (isJSONObject(message) && message.stonegateResponse === id) settle(message.response);
    };
    const timer = clock.after(timeout, () => settle(undefined));
    worker.on('message', listener);
    worker.send?.({ stonegateRequest: id, request });
  });
}

/** Serves the primary's requests in a worker. */
export function servePrimary(primary: ChannelEnd, handlers: WorkerHandlers, logger: Logger): void {
  primary.on('message', (message) => {
    if (!isJSONObject(message) || typeof message.stonegateRequest !== 'number') return;
    const id = message.stonegateRequest;
    handle(message.request, handlers).then(
      (response) => primary.send?.({ stonegateResponse: id, response }),
      (error: unknown) => {
        logger.error({ error }, 'serving a request of the primary failed');
        primary.send?.({ stonegateResponse: id });
      },
    );
  });
}

async function handle(request: unknown, { readiness, metrics, usage }: WorkerHandlers): Promise<unknown> {
  if (request === 'usage') return usage();
  return request === 'readiness' ? readiness() : metrics();
}

/** Validates a worker's response to `readiness`. */
export function isReadinessList(value: unknown): value is Readiness[] {
  return Array.isArray(value) && value.every((each) => isJSONObject(each) && typeof each.name === 'string');
}
