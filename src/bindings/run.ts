/**
 * One provisioning run: plan, apply without `force` (held-back deletions are the operator's decision), and
 * the summary in the log. A state that does not change from run to run is logged once.
 */
import { createChangedStates } from '../lib/changed-states.ts';
import type { Logger } from '../lib/logger.ts';
import type { ApplyResult } from './apply.ts';
import { lossesOf } from './deletion-guard.ts';
import type { Change, Plan } from './plan.ts';

/** Plans and applies, for the whole cluster or for one project. */
export interface Provisioning {
  /** @throws StatusError if Keystone or the cluster cannot be read completely */
  plan(signal: AbortSignal): Promise<Plan>;
  apply(plan: Plan, options: { readonly force: boolean; readonly signal: AbortSignal }): Promise<ApplyResult>;
}

export interface RunOutcome {
  /** `incomplete`: a change failed. `held-back`: deletions wait for the operator. */
  readonly result: 'ok' | 'incomplete' | 'held-back';
  readonly plan: Plan;
  readonly applied: ApplyResult;
  /** Number of applied changes. */
  readonly changes: Readonly<Record<Change['action'], number>>;
}

/**
 * @param signal cancels the run before its next change
 * @throws StatusError if either side cannot be read completely
 * @throws the signal's reason if it was cancelled before the first change
 */
export async function runProvisioning(provisioning: Provisioning, signal: AbortSignal): Promise<RunOutcome> {
  const plan = await unlessAborted(provisioning.plan(signal), signal);
  const applied = await provisioning.apply(plan, { force: false, signal });
  const { failures, heldBack } = applied;
  const left = [...failures.map(({ change }) => change), ...heldBack];
  const count = (changes: readonly Change[], action: Change['action']) =>
    changes.filter((change) => change.action === action).length;
  const done = (action: Change['action']) => count(plan.changes, action) - count(left, action);
  const result = failures.length > 0 ? 'incomplete' : heldBack.length > 0 ? 'held-back' : 'ok';
  return {
    result,
    plan,
    applied,
    changes: { create: done('create'), update: done('update'), delete: done('delete') },
  };
}

/** Numbers for metrics. */
export function numbersOf({ changes, plan, applied }: RunOutcome) {
  return { changes, refusals: plan.refusals.length, heldBack: applied.heldBack.length };
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

export interface RunLog {
  leaseChanged(held: boolean): void;
  /** @param about fields of the project, if the run was for one */
  ended(outcome: RunOutcome, about?: object): void;
  brokenOff(reason: unknown): void;
  /** A plan could be computed. */
  planned(): void;
  /** No plan could be computed. */
  failed(error: unknown): void;
}

/** At most so many are logged; `stonegate sync --dry-run` shows all. */
const SHOWN = 20;

export function createRunLog(logger: Logger): RunLog {
  const isNew = createChangedStates();

  function tell(what: string, all: readonly object[], about: object, message: string): void {
    if (!isNew(what, JSON.stringify(all))) return;
    if (all.length > 0) logger.warn({ ...about, count: all.length, [what]: all.slice(0, SHOWN) }, message);
  }

  return {
    leaseChanged(held) {
      logger.info({}, held ? 'this process provisions' : 'this process does not provision: no lease');
    },
    brokenOff: (reason) => logger.info({ reason }, 'a run of provisioning was broken off'),
    ended({ result, plan, applied, changes }, about = {}) {
      const { create, update, delete: deleted } = changes;
      const level = create + update + deleted > 0 ? 'info' : 'debug';
      logger[level]({ ...about, result, changes, unchanged: plan.unchanged }, 'provisioning run');
      tell('refusals', plan.refusals, about, 'some of Keystone cannot be provisioned');
      const failures = applied.failures.map(({ change: { action, object, place }, reason }) => ({
        change: `${action} ${object.kind} ${object.metadata.name}`,
        ...place,
        reason,
      }));
      tell('failures', failures, about, 'some objects could not be provisioned');
      const losses = lossesOf(applied.heldBack, plan).map(({ place, going, there }) => ({
        ...place,
        going,
        there,
      }));
      if (isNew('heldBack', JSON.stringify(losses)) && losses.length > 0)
        logger.warn(
          {
            ...about,
            heldBack: applied.heldBack.length,
            places: losses.length,
            losses: losses.slice(0, SHOWN),
          },
          'more bindings would be removed than bindings.maxDeletedShare allows: these are not, until an operator runs stonegate sync --force',
        );
    },
    planned() {
      if (isNew('error', '')) logger.info({}, 'provisioning works again');
    },
    failed(error) {
      // Requests run concurrently, so the first error may vary: only changes are logged as errors.
      const level = isNew('error', error instanceof Error ? error.message : String(error))
        ? 'error'
        : 'debug';
      logger[level]({ error }, 'provisioning failed; it is tried again');
    },
  };
}
