/**
 * The primary asks its workers for reports over the channel of `node:cluster`: each request has an ID, and
 * its response the same one.
 */
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { Readiness } from './admin.ts';

/** What a worker tells the primary. */
export interface WorkerReport {
  readonly readiness: readonly Readiness[];
  /** Counters and gauges in the form that the primary's `aggregate` takes. */
  readonly metrics: object;
  /** In the form that the primary's `usage` takes; absent if usage is off. */
  readonly usage?: object | undefined;
}

/** One end of the channel: a `Worker` of the primary, or the worker's `process`. */
export interface ChannelEnd {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: object): unknown;
}

let lastID = 0;

/**
 * Asks a worker for its report.
 *
 * @param timeout milliseconds
 * @returns undefined if the worker does not respond in time, or fails
 */
export function requestReport(
  worker: ChannelEnd,
  clock: Clock,
  timeout: number,
): Promise<WorkerReport | undefined> {
  lastID += 1;
  const id = lastID;
  return new Promise((resolve) => {
    const settle = (report: unknown) => {
      worker.off('message', listener);
      timer.cancel();
      resolve(isReport(report) ? report : undefined);
    };
    const listener = (message: unknown) => {
      if (isJSONObject(message) && message.stonegateResponse === id) settle(message.report);
    };
    const timer = clock.after(timeout, () => settle(undefined));
    worker.on('message', listener);
    worker.send?.({ stonegateRequest: id });
  });
}

/** Answers the primary's requests in a worker. */
export function servePrimary(primary: ChannelEnd, report: () => Promise<WorkerReport>, logger: Logger): void {
  primary.on('message', (message) => {
    if (!isJSONObject(message) || message.stonegateRequest === undefined) return;
    const id = message.stonegateRequest;
    report().then(
      (made) => primary.send?.({ stonegateResponse: id, report: made }),
      (error: unknown) => {
        logger.error({ error }, 'serving a request of the primary failed');
        primary.send?.({ stonegateResponse: id });
      },
    );
  });
}

function isReport(value: unknown): value is WorkerReport {
  return isJSONObject(value) && Array.isArray(value.readiness) && typeof value.metrics === 'object';
}
