/**
 * Provisions the whole cluster periodically, so that a lost role is also removed for users who send no
 * request. The replica that holds the lease does it and keeps the lease between runs; if it loses the lease
 * during a run, the run ends before its next change.
 */
import type { Clock, Timer } from '../lib/clock.ts';
import { LEASE_RENEWAL, LEASE_STANDBY, type Lease } from '../lib/lease.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { ProvisioningResult, Telemetry } from '../lib/telemetry.ts';
import { createRunLog, numbersOf, type Provisioning, type RunOutcome, runProvisioning } from './run.ts';

/** Milliseconds after a failed run; doubled with each further failure, up to the interval. */
const FIRST_RETRY = 10_000;
const LONGEST_RETRY = 60_000;
const MAX_DOUBLINGS = 10;

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
  const { provisioning, lease, interval, clock, random, logger, telemetry } = options;
  const log = createRunLog(logger);
  let running: { readonly ending: AbortController; readonly ended: Promise<void> } | undefined;
  let beating: Promise<void> = Promise.resolve();
  let timer: Timer | undefined;
  let held: boolean | undefined;
  let dueAt = clock.now();
  let failures = 0;
  let stopped = false;

  function beat(): void {
    beating = lookAtLease();
  }

  async function lookAtLease(): Promise<void> {
    const holds = await lease.hold();
    if (holds !== held) log.leaseChanged(holds);
    held = holds;
    if (stopped) return;
    if (!holds) running?.ending.abort(new Error('another replica provisions now'));
    else if (running === undefined && clock.now() >= dueAt) running = begin();
    wait();
  }

  function wait(): void {
    timer?.cancel();
    timer = clock.after(untilNextLook(), beat);
  }

  function untilNextLook(): number {
    if (held !== true) return LEASE_STANDBY;
    return running === undefined ? Math.min(Math.max(0, dueAt - clock.now()), LEASE_RENEWAL) : LEASE_RENEWAL;
  }

  function begin() {
    const ending = new AbortController();
    const ended = run(ending.signal).then((result) => {
      running = undefined;
      failures = result === 'error' || result === 'incomplete' ? failures + 1 : 0;
      // Jitter: replicas that start together must not request Keystone together.
      dueAt = clock.now() + pauseAfter(failures) * (0.9 + 0.2 * random.fraction());
      if (!stopped) wait();
    });
    return { ending, ended };
  }

  async function run(signal: AbortSignal): Promise<ProvisioningResult> {
    let outcome: RunOutcome | undefined;
    let failure: unknown;
    try {
      outcome = await runProvisioning(provisioning, signal);
    } catch (error) {
      failure = error;
    }
    const result = signal.aborted ? 'broken-off' : (outcome?.result ?? 'error');
    if (signal.aborted) log.brokenOff(signal.reason);
    else if (outcome === undefined) log.failed(failure);
    else {
      log.planned();
      log.ended(outcome);
    }
    telemetry.provisioned({ trigger: 'periodic', result, ...(outcome && numbersOf(outcome)) });
    return result;
  }

  function pauseAfter(failed: number): number {
    if (failed === 0) return interval;
    const first = Math.min(interval, FIRST_RETRY);
    return Math.min(first * 2 ** Math.min(failed - 1, MAX_DOUBLINGS), Math.max(interval, LONGEST_RETRY));
  }

  return {
    start: beat,
    async stop() {
      stopped = true;
      timer?.cancel();
      running?.ending.abort(new Error('provisioning ends'));
      await Promise.all([running?.ended, beating]);
      if (held === true) await lease.release();
    },
  };
}
