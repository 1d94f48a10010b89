/**
 * Provisions the whole cluster periodically, so that a lost role is also removed for users who send no
 * request. The replica that holds the lease does it.
 */
import type { Clock } from '../lib/clock.ts';
import { IncompleteRun, LeaderLoop } from '../lib/leader-loop.ts';
import type { Lease } from '../lib/lease.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import { createRunLog, numbersOf, type Provisioning, type RunOutcome, runProvisioning } from './run.ts';

/** Milliseconds after a failed run; doubled with each further failure, up to the interval. */
const FIRST_RETRY = 10_000;
const LONGEST_RETRY = 60_000;

export interface PeriodicProvisioningOptions {
  readonly provisioning: Provisioning;
  readonly lease: Lease;
  /** Approximate milliseconds from the end of one run to the start of the next. */
  readonly interval: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface PeriodicProvisioning {
  start(): void;
  /** Cancels a run before its next change, and releases the lease. */
  stop(): Promise<void>;
}

export function createPeriodicProvisioning(options: PeriodicProvisioningOptions): PeriodicProvisioning {
  const { provisioning, interval, logger, telemetry } = options;
  const log = createRunLog(logger);

  async function run(signal: AbortSignal): Promise<void> {
    let outcome: RunOutcome;
    try {
      outcome = await runProvisioning(provisioning, signal);
    } catch (error) {
      telemetry.provisioned({ trigger: 'periodic', result: signal.aborted ? 'broken-off' : 'error' });
      if (signal.aborted) log.brokenOff(signal.reason);
      throw error;
    }
    const result = signal.aborted ? 'broken-off' : outcome.result;
    telemetry.provisioned({ trigger: 'periodic', result, ...numbersOf(outcome) });
    if (signal.aborted) {
      log.brokenOff(signal.reason);
      return;
    }
    log.planned();
    log.ended(outcome);
    if (result === 'incomplete') throw new IncompleteRun('some objects could not be provisioned');
  }

  return new LeaderLoop({
    ...options,
    run,
    retry: { first: Math.min(interval, FIRST_RETRY), longest: Math.max(interval, LONGEST_RETRY) },
    onLeaseChange: (held) => log.leaseChanged(held),
    onFailure: (error) => log.failed(error),
  });
}
