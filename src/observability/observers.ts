/**
 * Several observers as one. One that fails must not take the request or the others with it: it is logged.
 */
import type { Logger } from '../lib/logger.ts';
import type { RequestObserver } from '../pipeline/request-observer.ts';

export function observeAll(observers: readonly RequestObserver[], logger: Logger): RequestObserver {
  const each = (action: (observer: RequestObserver) => void) => {
    for (const observer of observers) {
      try {
        action(observer);
      } catch (error) {
        logger.error({ error }, 'an observer of requests failed');
      }
    }
  };
  return {
    requestReceived: (record) => each((observer) => observer.requestReceived(record)),
    responseStarted: (record, status) => each((observer) => observer.responseStarted(record, status)),
    responseComplete: (record) => each((observer) => observer.responseComplete(record)),
  };
}
