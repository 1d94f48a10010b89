/**
 * Limits the validation of credentials that no cache knows, before the backend is asked: a rate per source
 * address, a bound on concurrent validations, and a short queue that is fair between sources. A Keystone
 * validates about 35 tokens per second, so without these limits one client could take the log-in from all
 * users.
 */

import { StatusError } from '../errors/status-error.ts';
import { defineCounter } from '../lib/metric.ts';
import type { Runtime } from '../lib/runtime.ts';
import { sourceKey } from '../lib/source-key.ts';
import { KeyedSemaphore } from './keyed-semaphore.ts';
import { createRateLimiter, type Rate } from './rate-limiter.ts';

export const UNKNOWN_CREDENTIALS_LIMITED = defineCounter({
  name: 'stonegate_unknown_credentials_limited_total',
  help: 'Unknown credentials refused before a backend was called.',
  labels: { reason: ['source', 'total'] },
});

export interface UnknownCredentialGate {
  /**
   * Limits how many unknown credentials reach a backend, per source address and in total. Cached credentials
   * do not pass it.
   *
   * @param source the client's address
   * @throws StatusError CredentialRateExceeded if the source or the total exceeds its limit
   */
  enter<T>(source: string, work: () => Promise<T>): Promise<T>;
}

export interface UnknownCredentialGateOptions extends Pick<Runtime, 'clock' | 'telemetry'> {
  readonly perSource: Rate;
  /** Concurrent validations. */
  readonly concurrent: number;
  /** Requests that wait for one. */
  readonly queue: number;
  /** The longest wait, in milliseconds. */
  readonly queueTimeout: number;
}

export function createUnknownCredentialGate(options: UnknownCredentialGateOptions): UnknownCredentialGate {
  const { perSource, concurrent, queueTimeout, clock, telemetry } = options;
  const rates = createRateLimiter({ ...perSource, clock });
  const validations = new KeyedSemaphore({
    clock,
    permits: concurrent,
    permitsPerKey: Number.POSITIVE_INFINITY,
    queue: options.queue,
    queuePerKey: options.queue,
    queueTimeout,
    refusal: () => refusal('total'),
  });

  function refusal(reason: 'source' | 'total'): StatusError {
    telemetry.count(UNKNOWN_CREDENTIALS_LIMITED, { reason });
    const why =
      reason === 'source' ? 'too many new credentials from your address' : 'too many log-ins at once';
    return new StatusError('CredentialRateExceeded', `Too many requests, please try again later: ${why}`);
  }

  return {
    async enter(source, work) {
      const key = sourceKey(source);
      if (!rates.take(key)) throw refusal('source');
      const semaphore = validations.of(key);
      await semaphore.acquire();
      try {
        return await work();
      } finally {
        semaphore.release();
      }
    },
  };
}
