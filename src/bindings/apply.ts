/**
 * Applies a plan: tenants, namespaces, roles, bindings, then deletions, a few at a time. A failed change is
 * reported and does not stop the others, so that one tenant's problem does not affect another. Running it
 * again does the rest.
 */
import type { ObjectKind } from '../api/kubernetes-object.ts';
import { reasonOf, StatusError } from '../errors/status-error.ts';
import { mapWithConcurrency } from '../lib/concurrency.ts';
import { deletionsOf, heldBack } from './deletion-guard.ts';
import { objectKey } from './difference.ts';
import type { Change, Plan } from './plan.ts';
import type { ClusterObjects } from './ports.ts';
import {
  type BindingTarget,
  bindingTargetProblem,
  getBindingTarget,
  OwnershipConflict,
  revert,
  writeObject,
} from './write-object.ts';

export interface ApplyOptions {
  readonly objects: ClusterObjects;
  /** See `deletion-guard.ts`. */
  readonly maxDeletedShare: number;
  /** Whether all deletions are applied, however many. */
  readonly force: boolean;
  /** Told of each change when it is over. */
  readonly onProgress?: (progress: Progress) => void;
  /** Nothing further is begun once it is aborted. */
  readonly signal: AbortSignal;
}

export interface ApplyResult {
  readonly done: number;
  readonly failures: readonly Failure[];
  /** Deletions that the operator must confirm. */
  readonly heldBack: readonly Change[];
}

const CONCURRENCY = 4;
const ORDER: readonly (readonly ObjectKind[])[] = [
  ['Tenant'],
  ['Namespace'],
  ['ClusterRole'],
  ['RoleBinding', 'ClusterRoleBinding'],
];

export async function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { objects, force, maxDeletedShare, signal } = options;
  const held = force ? [] : heldBack(plan, maxDeletedShare);
  const deletions = new Set(deletionsOf(plan));
  const summary = createApplySummary(plan.changes.length - held.length, options);
  const write = (change: Change) => summary.attempt(change, () => writeObject(objects, change, signal));

  for (const kinds of ORDER) {
    const changes = plan.changes.filter(
      (change) => kinds.includes(change.object.kind) && !deletions.has(change),
    );
    await mapWithConcurrency([...Map.groupBy(changes, unitOf).values()], CONCURRENCY, async (unit) => {
      if (kinds.includes('RoleBinding')) await bind(unit, options, summary);
      else for (const change of unit) await write(change);
    });
  }
  const waiting = new Set(held);
  await mapWithConcurrency(
    [...deletions].filter((change) => !waiting.has(change)),
    CONCURRENCY,
    write,
  );
  return { done: summary.done(), failures: summary.failures, heldBack: held };
}

/**
 * Applies the bindings of one namespace or tenant. The target is read before the first and after the last
 * write: if another object has replaced it meanwhile, the bindings are reverted.
 */
async function bind(
  unit: readonly Change[],
  { objects, signal }: ApplyOptions,
  summary: ApplySummary,
): Promise<void> {
  const [first] = unit;
  if (first === undefined) return;
  const { place } = first;
  const written: Change[] = [];
  let target: BindingTarget | undefined;
  for (const change of unit) {
    await summary.attempt(change, async () => {
      target ??= await getBindingTarget(objects, place, signal);
      const problem = bindingTargetProblem(target, change.object);
      if (problem !== undefined) throw new OwnershipConflict(problem);
      await writeObject(objects, change, signal);
      written.push(change);
    });
  }
  if (written.length > 0)
    await summary.recheck(written, () => verifyUnchanged(written, target, objects, signal));
}

async function verifyUnchanged(
  written: readonly Change[],
  before: BindingTarget | undefined,
  objects: ClusterObjects,
  signal: AbortSignal,
): Promise<void> {
  const place = written[0]?.place ?? {};
  const after = await getBindingTarget(objects, place, signal);
  // If the target is gone, its bindings are gone too.
  if (after === undefined || after.metadata.uid === before?.metadata.uid) return;
  for (const change of written) await revert(objects, change, signal);
  throw new OwnershipConflict('another namespace or tenant was put in its place meanwhile');
}

/** Changes with the same key are applied one after the other. */
function unitOf({ object, place }: Change): string {
  const isBinding = object.kind === 'RoleBinding' || object.kind === 'ClusterRoleBinding';
  return isBinding ? `${place.tenant ?? ''}/${place.namespace ?? ''}` : objectKey(object, place);
}

export interface Failure {
  readonly change: Change;
  readonly reason: string;
}

export interface Progress {
  readonly change: Change;
  /** Reason of the failure; absent on success. */
  readonly failure?: string;
  readonly finished: number;
  readonly total: number;
}

export interface ApplySummary {
  readonly failures: readonly Failure[];
  done(): number;
  attempt(change: Change, work: () => Promise<void>): Promise<void>;
  /** Checks applied changes again; if the check fails, they count as failed. */
  recheck(changes: readonly Change[], work: () => Promise<void>): Promise<void>;
}

export interface ApplySummaryOptions {
  /** Told of each change when it is over. */
  readonly onProgress?: (progress: Progress) => void;
  /** Nothing further is begun once it is aborted. */
  readonly signal: AbortSignal;
}

function createApplySummary(total: number, { onProgress, signal }: ApplySummaryOptions): ApplySummary {
  const failures: Failure[] = [];
  let done = 0;

  function count(change: Change, failure: string | undefined): void {
    if (failure === undefined) done += 1;
    else failures.push({ change, reason: failure });
    const finished = done + failures.length;
    onProgress?.({ change, finished, total, ...(failure !== undefined && { failure }) });
  }

  return {
    failures,
    done: () => done,
    async attempt(change, work) {
      count(change, signal.aborted ? 'it was broken off before' : await failureOf(work));
    },
    async recheck(changes, work) {
      const failure = await failureOf(work);
      if (failure === undefined) return;
      done -= changes.length;
      for (const change of changes) count(change, failure);
    },
  };
}

async function failureOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof OwnershipConflict) return error.message;
    if (!(error instanceof StatusError)) throw error;
    return reasonOf(error);
  }
}
