/**
 * Several observers as one. One that fails must not take the request or the others with it: it is logged.
 */
import type { Logger } from '../lib/logger.ts';
import type { RequestObserver } from '../pipeline/ports.ts';

export function observeAll(observers: readonly RequestObserver[], logger: Logger): RequestObserver {
  const failed = (error: unknown) => logger.error({ error }, 'an observer of requests failed');
  // Written out for each event: the same once, with a function of the event, would make one at each.
  return {
    requestReceived(record) {
      for (const observer of observers) {
        try {
          observer.requestReceived(record);
        } catch (error) {
          failed(error);
        }
      }
    },
    responseStarted(record, status) {
      for (const observer of observers) {
        try {
          observer.responseStarted(record, status);
        } catch (error) {
          failed(error);
        }
      }
    },
    responseComplete(record) {
      for (const observer of observers) {
        try {
          observer.responseComplete(record);
        } catch (error) {
          failed(error);
        }
      }
    },
  };
}
