/**
 * Slows a flood of credentials nobody knows before the backend sees it: a rate per source address, a bound on
 * the validations under way, and a short, fair line for those who have to wait. A Keystone answers some 35
 * validations a second, so without this one stranger could take the log-in from everybody.
 */
import type { UnknownCredentialGate } from '../authentication/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { sourceKey } from '../lib/source-key.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createFairQueue } from './fair-queue.ts';
import { createTokenBuckets } from './token-buckets.ts';

export interface UnknownCredentialGateOptions {
  readonly perSource: { readonly perSecond: number; readonly burst: number };
  /** Validations under way at once. */
  readonly concurrent: number;
  /** How many more may wait. */
  readonly queue: number;
  /** How long one waits at most, in milliseconds. */
  readonly queueTimeout: number;
  /** Source addresses remembered at once. */
  readonly maxSources?: number;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

interface Waiting {
  admit(): void;
  refuse(error: StatusError): void;
}

export function createUnknownCredentialGate(options: UnknownCredentialGateOptions): UnknownCredentialGate {
  const { perSource, concurrent, queueTimeout, clock, telemetry } = options;
  const buckets = createTokenBuckets({ ...perSource, maxKeys: options.maxSources ?? 10_000, clock });
  const queue = createFairQueue<Waiting>(options.queue);
  let running = 0;

  function refusal(reason: 'source' | 'total'): StatusError {
    telemetry.unknownCredentialLimited(reason);
    const why =
      reason === 'source' ? 'too many new credentials from your address' : 'too many log-ins at once';
    return new StatusError('CredentialRateExceeded', `Too many requests, please try again later: ${why}`);
  }

  /** Resolves when the caller holds one of the `concurrent` places. */
  function waitForPlace(source: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        admit() {
          timer.cancel();
          resolve();
        },
        refuse(error) {
          timer.cancel();
          reject(error);
        },
      };
      const timer = clock.after(queueTimeout, () => {
        queue.remove(source, waiting);
        waiting.refuse(refusal('total'));
      });
      queue.push(source, waiting)?.refuse(refusal('total'));
    });
  }

  /** Hands the place to the next one waiting, or frees it. */
  function leave(): void {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next.admit();
  }

  return {
    async enter(source, work) {
      const key = sourceKey(source);
      if (!buckets.take(key)) throw refusal('source');
      if (running < concurrent) running += 1;
      else await waitForPlace(key);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
