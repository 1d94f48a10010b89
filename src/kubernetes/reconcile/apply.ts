/**
 * Applies a plan phase by phase, a few changes at a time. A failed change is reported and stops no other, so
 * that one tenant's problem does not affect another; only if the API server does not respond, the rest waits
 * for the next run. Objects may have changed since the plan was computed: after a conflict an object is read
 * and compared again, and another client's object is left as it is.
 */
import type { ErrorCode } from '../../errors/codes.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { objectKey } from '../kubernetes-object.ts';
import type { Objects } from '../objects.ts';
import { heldBack } from './deletion-guard.ts';
import {
  type Change,
  type ChangedObject,
  type Comparison,
  type Deletion,
  type Plan,
  phaseOf,
  titleOf,
  type Write,
} from './plan.ts';

export interface ApplyOptions {
  readonly objects: Objects;
  /** The share of the guarded objects that may be deleted, 0 to 1; all may be without it. */
  readonly maxDeletedShare?: number | undefined;
  /** Whether all deletions are applied, however many. */
  readonly force?: boolean | undefined;
  /** Called for each change when it is over. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Nothing further is begun once it is aborted. */
  readonly signal: AbortSignal;
}

export interface Failure {
  readonly change: ChangedObject;
  readonly reason: string;
}

export interface Progress {
  readonly change: Change;
  /** Absent on success. */
  readonly failure?: string;
  readonly finished: number;
  readonly total: number;
}

export interface ApplyResult {
  readonly done: readonly Change[];
  readonly failures: readonly Failure[];
  /** Deletions that an operator must confirm. */
  readonly heldBack: readonly Deletion[];
}

const CONCURRENCY = 4;
/**
 * The most tenants or namespaces in which a change may fail because the API server does not respond: then the
 * run ends. A tenant or namespace gets no further change after its first such failure.
 */
const MAX_UNANSWERED = 8;
const UNANSWERED: ReadonlySet<ErrorCode> = new Set([
  'UpstreamUnavailable',
  'UpstreamTimeout',
  'UpstreamRefusedCredential',
]);

export async function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { objects, maxDeletedShare, force, onProgress, signal } = options;
  const held = heldBack(plan, force === true ? undefined : maxDeletedShare);
  const waiting = new Set<Change>(held);
  const changes = plan.changes.filter((change) => !waiting.has(change));
  const done: Change[] = [];
  const failures: Failure[] = [];
  /** Key → title. */
  const failed = new Map<string, string>();
  const unanswered = new Set<string>();

  /** @returns why the change is not begun */
  function blockingReason(change: Change): string | undefined {
    if (signal.aborted) return 'it was broken off before';
    if (unanswered.size >= MAX_UNANSWERED || unanswered.has(ownerOf(change)))
      return 'the API server did not respond before';
    if (change.action === 'delete') return undefined;
    const { requires = [] } = change.desired;
    const missing = requires.map((key) => failed.get(key)).find((title) => title !== undefined);
    return missing && `it needs ${missing}, which could not be written`;
  }

  /** @returns why the change failed */
  async function attempt(change: Change): Promise<string | undefined> {
    try {
      await (change.action === 'delete' ? remove(objects, change, signal) : write(objects, change, signal));
      return undefined;
    } catch (error) {
      if (error instanceof Conflict) return error.message;
      if (!(error instanceof StatusError)) throw error;
      if (UNANSWERED.has(error.code)) unanswered.add(ownerOf(change));
      return reasonOf(error);
    }
  }

  for (const phase of Map.groupBy(changes, phaseOf).values())
    await mapWithConcurrency(phase, CONCURRENCY, async (change) => {
      const failure = blockingReason(change) ?? (await attempt(change));
      if (failure === undefined) done.push(change);
      else {
        failures.push({ change, reason: failure });
        failed.set(keyOf(change), titleOf(change));
      }
      const finished = done.length + failures.length;
      onProgress?.({ change, finished, total: changes.length, ...(failure !== undefined && { failure }) });
    });
  return { done, failures, heldBack: held };
}

function keyOf({ kind, place, object }: Change): string {
  return objectKey(kind, place, object.metadata.name);
}

/** Whose change it is: one tenant or namespace must not end the run of the others. */
function ownerOf(change: Change): string {
  const { tenant, namespace } = change.place;
  return tenant ?? namespace ?? keyOf(change);
}

/** The object is another client's, or keeps changing. */
class Conflict extends Error {}

const ATTEMPTS = 3;
const CHANGING = 'another client keeps changing it';

async function write(objects: Objects, change: Write, signal: AbortSignal): Promise<void> {
  const { desired, kind, place, object } = change;
  const { target } = desired;
  const problem = target?.problem(await objects.get(target.kind, target.place, target.name, signal));
  if (problem !== undefined) throw new Conflict(problem);
  if (await tryToWrite(objects, change, change, signal)) return;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const found = desired.compare(await objects.get(kind, place, object.metadata.name, signal));
    if ('refused' in found) throw new Conflict(found.refused);
    if (found.action === 'none' || (await tryToWrite(objects, change, found, signal))) return;
  }
  throw new Conflict(CHANGING);
}

/** @returns false if another client has changed the object meanwhile */
async function tryToWrite(
  objects: Objects,
  { kind, place }: Write,
  writing: Extract<Comparison, { readonly object: unknown }>,
  signal: AbortSignal,
): Promise<boolean> {
  const { object } = writing;
  const replaces = writing.action === 'update' ? writing.replaces : undefined;
  if (writing.action === 'update' && replaces === undefined)
    return typeof (await objects.update(kind, place, object, signal)) === 'object';
  if (replaces && (await objects.delete(kind, place, replaces, signal)) === 'conflict') return false;
  return (await objects.create(kind, place, object, signal)) !== 'exists';
}

async function remove(
  objects: Objects,
  { kind, place, object, isOwned }: Deletion,
  signal: AbortSignal,
): Promise<void> {
  let current = object;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    if ((await objects.delete(kind, place, current, signal)) !== 'conflict') return;
    const found = await objects.get(kind, place, object.metadata.name, signal);
    if (found === undefined) return;
    if (!isOwned(found)) throw new Conflict('another client has taken it over meanwhile');
    current = found;
  }
  throw new Conflict(CHANGING);
}
