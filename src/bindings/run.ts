/**
 * One run of provisioning, whoever asked for it: both sides are read, and what lies between them is done. Never with
 * force: what the deletion guard holds back is for a person to decide.
 */
import type { ApplyResult } from './apply.ts';
import type { Change, Plan } from './plan.ts';

/** What a run is made of, for the whole cluster or for one project. */
export interface Provisioning {
  /** @throws StatusError where either side cannot be read whole */
  plan(signal: AbortSignal): Promise<Plan>;
  apply(plan: Plan, options: { readonly force: boolean; readonly signal: AbortSignal }): Promise<ApplyResult>;
}

export interface RunOutcome {
  /** `incomplete`: something failed. `held-back`: deletions wait for a person. */
  readonly result: 'ok' | 'incomplete' | 'held-back';
  readonly plan: Plan;
  readonly applied: ApplyResult;
  /** How many were done. */
  readonly changes: Readonly<Record<Change['action'], number>>;
}

/**
 * @param signal ends the run before its next change
 * @throws StatusError where either side cannot be read whole
 * @throws the signal's reason where it was ended before it changed anything
 */
export async function runOnce(provisioning: Provisioning, signal: AbortSignal): Promise<RunOutcome> {
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

/** For metrics. */
export function numbersOf({ changes, plan, applied }: RunOutcome) {
  return { changes, refusals: plan.refusals.length, heldBack: applied.heldBack.length };
}

/** What is only read may be left to itself. */
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
