/**
 * Publishes soon after each change and periodically, on the replica that holds the lease.
 */
import type { Clock } from '../lib/clock.ts';
import { IncompleteRun, LeaderLoop } from '../lib/leader-loop.ts';
import type { Lease } from '../lib/lease.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createPublishingLog, type PublishingOutcome, publishingNumbers } from './run.ts';

export interface PublishingControllerOptions {
  /** @throws StatusError if tenants or namespaces cannot be read */
  readonly publish: (signal: AbortSignal) => Promise<PublishingOutcome>;
  /** Whether nothing is published any more: then it only deletes copies. */
  readonly withdraws: boolean;
  readonly lease: Lease;
  /** Approximate milliseconds from the end of one run to the start of the next without a change. */
  readonly interval: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface PublishingController {
  start(): void;
  /** A source, a tenant or a namespace has changed. */
  wake(): void;
  /** Ends a run before its next change, and releases the lease. */
  stop(): Promise<void>;
}

export function createPublishingController(options: PublishingControllerOptions): PublishingController {
  const { publish, withdraws, logger, telemetry } = options;
  const work = withdraws ? 'delete copies of what was published' : 'publish';
  const log = createPublishingLog(logger);

  async function run(signal: AbortSignal): Promise<void> {
    let outcome: PublishingOutcome;
    try {
      outcome = await publish(signal);
    } catch (error) {
      telemetry.published({ result: signal.aborted ? 'broken-off' : 'error' });
      throw error;
    }
    const numbers = publishingNumbers(outcome);
    const result = signal.aborted ? 'broken-off' : numbers.failures > 0 ? 'incomplete' : 'ok';
    telemetry.published({ result, ...numbers });
    if (signal.aborted) return;
    log.ended(outcome);
    if (result === 'incomplete') throw new IncompleteRun('some copies could not be written');
  }

  return new LeaderLoop({
    ...options,
    run,
    onLeaseChange: (held) =>
      logger.info({}, held ? `this process is to ${work}` : `this process is not to ${work}: no lease`),
    onFailure: (error) => log.failed(error),
  });
}
