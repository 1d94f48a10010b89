/**
 * A controller: brings what it desires about soon after each change and periodically, on the replica that
 * holds the lease. A replica that loses the lease during a run ends the run before its next change. Each run
 * plans and applies, is counted, and is summarized in the log.
 */

import { Backoff } from '../../lib/backoff.ts';
import { pause, unlessAborted } from '../../lib/clock.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { ApplyResult } from './apply.ts';
import { type ControllerRun, countRun, LEADS } from './controller-metrics.ts';
import { LEASE_RENEWAL, LEASE_STANDBY, type Lease } from './lease.ts';
import type { Plan } from './plan.ts';
import { createRunLog, type RunLog } from './run-log.ts';

export interface Pace {
  /** Milliseconds after a change until a run begins: several that follow each other cause one run. */
  readonly debounce: number;
  /** After a run the next one waits this many times its duration, however often there are changes. */
  readonly rest: number;
}

const PACE: Pace = { debounce: 100, rest: 3 };
/** Milliseconds of the longest rest. */
const LONGEST_REST = 30_000;
/** Milliseconds after a failed run: doubled with each failure in a row. */
const RETRY = { first: 1_000, longest: 60_000 };

/** A controller's work, without its schedule. */
export interface Reconciler<P extends Plan = Plan> {
  /** @throws StatusError if what decides about everything cannot be read completely */
  plan(signal: AbortSignal): Promise<P>;
  apply(plan: P, signal: AbortSignal): Promise<ApplyResult>;
  /** Called when this replica becomes the leader. @returns called when it no longer is */
  lead?(): () => Promise<void>;
}

export interface ControllerOptions<P extends Plan> extends Runtime {
  /** One of those that the feature declares. */
  readonly name: string;
  readonly reconciler: Reconciler<P>;
  readonly lease: Lease;
  /** Approximate milliseconds from the end of one run to the start of the next without a change. */
  readonly interval: number;
  /** How soon after a change a run begins; `PACE` without it. */
  readonly pace?: Pace;
  /** Whether it ends with the first run without failures, since nothing is desired any more. */
  readonly once?: boolean;
  /** Calls `wake` after each change that matters. @returns ends the calls */
  readonly subscribe?: (wake: () => void) => () => void | Promise<void>;
}

export interface Controller {
  start(): void;
  /** Ends a run before its next change, and releases the lease. */
  stop(): Promise<void>;
}

export function createController<P extends Plan>(options: ControllerOptions<P>): Controller {
  return new LeasedController(options);
}

class LeasedController<P extends Plan> implements Controller {
  readonly #options: ControllerOptions<P>;
  readonly #log: RunLog;
  readonly #backoff: Backoff;
  #unsubscribe: (() => void | Promise<void>) | undefined;
  #loop: Promise<void> | undefined;
  /** Ends the pause of the loop. */
  #alarm = new AbortController();
  #run: { readonly ending: AbortController; readonly ended: Promise<void> } | undefined;
  #isLeader = false;
  #endLead: (() => Promise<void>) | undefined;
  /** When the next run is due, in milliseconds since the epoch. */
  #dueAt: number;
  /** No change starts a run before this time, in milliseconds since the epoch. */
  #restsUntil = 0;
  #hasChangedDuringRun = false;
  #isStopped = false;

  constructor(options: ControllerOptions<P>) {
    this.#options = options;
    this.#log = createRunLog(options.logger, { controller: options.name });
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
    this.#dueAt = options.clock.now();
  }

  start(): void {
    this.#unsubscribe = this.#options.subscribe?.(() => this.#wake());
    this.#loop = this.#holdLeaseAndRun();
  }

  async stop(): Promise<void> {
    this.#end();
    await Promise.all([this.#unsubscribe?.(), this.#run?.ended, this.#loop]);
  }

  #end(): void {
    this.#isStopped = true;
    this.#run?.ending.abort(new Error('this process ends its work'));
    this.#alarm.abort();
  }

  /** Something has changed: the next run begins soon. */
  #wake(): void {
    this.#hasChangedDuringRun = true;
    if (this.#run === undefined && this.#isLeader) this.#dueSoon();
  }

  #dueSoon(): void {
    const { clock, pace = PACE } = this.#options;
    const now = clock.now();
    // The clock may have been set back meanwhile.
    const rest = Math.min(this.#restsUntil - now, LONGEST_REST);
    const soon = now + Math.max(pace.debounce, rest);
    if (soon >= this.#dueAt) return;
    this.#dueAt = soon;
    this.#alarm.abort();
  }

  async #holdLeaseAndRun(): Promise<void> {
    const { lease, clock } = this.#options;
    while (!this.#isStopped) {
      this.#setLeader((await this.#ask(() => lease.hold())) ?? false);
      do {
        this.#alarm = new AbortController();
        if (!this.#isStopped) await pause(clock, this.#timeToNextCheck(), this.#alarm.signal);
      } while (this.#alarm.signal.aborted && !this.#isStopped);
    }
    await this.#run?.ended;
    await this.#endLead?.();
    if (this.#isLeader) await this.#ask(() => lease.release());
    this.#options.telemetry.set(LEADS, { controller: this.#options.name }, 0);
  }

  #setLeader(isLeader: boolean): void {
    const { name, clock, logger, telemetry, reconciler } = this.#options;
    telemetry.set(LEADS, { controller: name }, isLeader ? 1 : 0);
    if (isLeader !== this.#isLeader) {
      logger.info(
        { controller: name },
        isLeader ? 'this process is the leader' : 'this process is not the leader',
      );
      void this.#endLead?.();
      this.#endLead = isLeader ? reconciler.lead?.() : undefined;
    }
    // Changes while another replica was the leader are not known to the last run of this one.
    if (isLeader && !this.#isLeader) this.#dueAt = clock.now();
    this.#isLeader = isLeader;
    if (!isLeader) this.#run?.ending.abort(new Error('another replica is in charge now'));
    else if (!this.#isStopped && this.#run === undefined && clock.now() >= this.#dueAt) this.#begin();
  }

  /** An error means that this replica is not the leader. */
  async #ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#log.failed(error);
      const { telemetry, name, clock } = this.#options;
      countRun(telemetry, name, { result: 'error' }, clock.now());
      return undefined;
    }
  }

  #timeToNextCheck(): number {
    if (!this.#isLeader) return LEASE_STANDBY;
    if (this.#run !== undefined) return LEASE_RENEWAL;
    return Math.min(Math.max(0, this.#dueAt - this.#options.clock.now()), LEASE_RENEWAL);
  }

  #begin(): void {
    const { clock, pace = PACE } = this.#options;
    const ending = new AbortController();
    const begunAt = clock.now();
    this.#hasChangedDuringRun = false;
    const ended = this.#reconcile(ending.signal).then((delay) => {
      this.#run = undefined;
      const now = clock.now();
      this.#dueAt = now + delay;
      this.#restsUntil = now + pace.rest * Math.max(0, now - begunAt);
      if (this.#hasChangedDuringRun) this.#dueSoon();
      this.#alarm.abort();
    });
    this.#run = { ending, ended };
  }

  /** @returns milliseconds until the next run */
  async #reconcile(signal: AbortSignal): Promise<number> {
    const { reconciler, once, interval, random } = this.#options;
    const result = await reconcile(reconciler, { ...this.#options, log: this.#log }, signal);
    if (result !== 'ok' && result !== 'held-back') return this.#backoff.next();
    this.#backoff.reset();
    if (result === 'ok' && once) this.#end();
    // The interval varies, so that replicas that start together do not ask the API server together.
    return interval * (0.9 + 0.2 * random.fraction());
  }
}

interface RunOptions extends Pick<Runtime, 'clock' | 'telemetry'> {
  /** One of those that the feature declares. */
  readonly name: string;
  /** Whether the run is about a part of the controller's objects. */
  readonly isPartial?: boolean;
  readonly log: RunLog;
}

/**
 * One run. Never rejects.
 *
 * @param signal ends the run before its next change
 */
export async function reconcile<P extends Plan>(
  reconciler: Reconciler<P>,
  { name, isPartial = false, clock, telemetry, log }: RunOptions,
  signal: AbortSignal,
): Promise<RunResult> {
  try {
    const plan = await unlessAborted(reconciler.plan(signal), signal);
    const applied = await reconciler.apply(plan, signal);
    const result = signal.aborted ? 'broken-off' : resultOf(plan, applied);
    const changes = changesIn(applied);
    const planned = {
      isPartial,
      changes,
      refusals: plan.refusals.length,
      failures: applied.failures.length + plan.unread.length,
      heldBack: applied.heldBack.length,
    };
    countRun(telemetry, name, { result, planned }, clock.now());
    if (!signal.aborted) log.ended(plan, applied, changes);
    return result;
  } catch (error) {
    if (!signal.aborted) log.failed(error);
    const result = signal.aborted ? 'broken-off' : 'error';
    countRun(telemetry, name, { result }, clock.now());
    return result;
  }
}

type RunResult = ControllerRun['result'];

function resultOf(plan: Plan, { failures, heldBack }: ApplyResult): RunResult {
  if (failures.length + plan.unread.length > 0) return 'incomplete';
  return heldBack.length > 0 ? 'held-back' : 'ok';
}

function changesIn({ done }: ApplyResult) {
  const count = (wanted: string) => done.filter(({ action }) => action === wanted).length;
  return { create: count('create'), update: count('update'), delete: count('delete') };
}
