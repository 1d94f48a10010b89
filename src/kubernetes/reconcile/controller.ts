/**
 * A controller: brings what it desires about soon after each change and periodically, on the replica that
 * holds the lease. Each run plans and applies, is counted, and is summarized in the log.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { ControllerName, ControllerRun, Telemetry } from '../../lib/telemetry.ts';
import type { ApplyResult } from './apply.ts';
import { LeaderLoop, type LeaderLoopOptions } from './leader-loop.ts';
import type { Plan } from './plan.ts';
import { createRunLog, type RunLog } from './run-log.ts';

/** What a controller does, beside when it does it. */
export interface Reconciler<P extends Plan = Plan> {
  /** @throws StatusError if what decides about everything cannot be read completely */
  plan(signal: AbortSignal): Promise<P>;
  apply(plan: P, signal: AbortSignal): Promise<ApplyResult>;
}

export interface ControllerOptions<P extends Plan>
  extends Pick<LeaderLoopOptions, 'lease' | 'interval' | 'retry'> {
  readonly name: ControllerName;
  readonly reconciler: Reconciler<P>;
  /** Milliseconds before the first run. */
  readonly startDelay?: number;
  /** Whether it ends with the first run without failures, since nothing is desired any more. */
  readonly once?: boolean;
  /** Calls `wake` after each change that matters. @returns ends the calls */
  readonly subscribe?: (wake: () => void) => () => void | Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface Controller {
  start(): void;
  /** Ends a run before its next change, and releases the lease. */
  stop(): Promise<void>;
}

export function createController<P extends Plan>(options: ControllerOptions<P>): Controller {
  const { name, reconciler, logger, telemetry, clock, startDelay = 0, once, subscribe } = options;
  const log = createRunLog(logger, { controller: name });
  let timer: Timer | undefined;
  let unsubscribe: (() => void | Promise<void>) | undefined;
  const loop = new LeaderLoop({
    ...options,
    run: async (signal) => {
      const result = await reconcile(reconciler, { ...options, log }, signal);
      if (result === 'ok' && once) void loop.stop();
      return result === 'ok' || result === 'held-back';
    },
    onLeaseFailure(error) {
      log.failed(error);
      telemetry.reconciled(name, { result: 'error' });
    },
    onLeaseChange: (held) =>
      logger.info(
        { controller: name },
        held ? 'this process is the leader' : 'this process is not the leader',
      ),
  });
  return {
    start() {
      unsubscribe = subscribe?.(() => loop.wake());
      if (startDelay > 0) timer = clock.after(startDelay, () => loop.start());
      else loop.start();
    },
    async stop() {
      timer?.cancel();
      await Promise.all([loop.stop(), unsubscribe?.()]);
    },
  };
}

interface RunOptions {
  readonly name: ControllerName;
  readonly telemetry: Telemetry;
  readonly log: RunLog;
}

/**
 * One run. Never rejects.
 *
 * @param signal ends the run before its next change
 */
export async function reconcile<P extends Plan>(
  reconciler: Reconciler<P>,
  { name, telemetry, log }: RunOptions,
  signal: AbortSignal,
): Promise<RunResult> {
  let plan: P;
  let applied: ApplyResult;
  try {
    plan = await unlessAborted(reconciler.plan(signal), signal);
    applied = await reconciler.apply(plan, signal);
  } catch (error) {
    if (!signal.aborted) log.failed(error);
    const result = signal.aborted ? 'broken-off' : 'error';
    telemetry.reconciled(name, { result });
    return result;
  }
  const result = signal.aborted ? 'broken-off' : resultOf(plan, applied);
  const changes = changesIn(applied);
  telemetry.reconciled(name, {
    result,
    changes,
    refusals: plan.refusals.length,
    failures: applied.failures.length + plan.unread.length,
    heldBack: applied.heldBack.length,
  });
  if (!signal.aborted) log.ended(plan, applied, changes);
  return result;
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

/** Reading may continue in the background: it has no effect. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
