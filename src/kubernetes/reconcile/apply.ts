/**
 * Applies a plan phase by phase, a few changes at a time. A failed change is reported and stops no other, so
 * that one tenant's problem does not affect another; only if the API server does not respond, the rest waits
 * for the next run.
 */
import type { ErrorCode } from '../../errors/codes.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { heldBack } from './deletion-guard.ts';
import { type Objects, objectKey, type StoredObject } from './objects.ts';
import {
  type Change,
  type ChangedObject,
  type Deletion,
  type Plan,
  phaseOf,
  type Target,
  titleOf,
  type Write,
} from './plan.ts';
import { Conflict, revert, writeChange } from './write.ts';

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
 * In so many tenants or namespaces a change may fail because the API server does not respond; then nothing
 * further is begun. In each of them nothing is after the first.
 */
const MAX_UNANSWERED = 8;
const UNANSWERED: ReadonlySet<ErrorCode> = new Set([
  'UpstreamUnavailable',
  'UpstreamTimeout',
  'UpstreamRefusedCredential',
]);

export async function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const held = heldBack(plan, options.force === true ? undefined : options.maxDeletedShare);
  const waiting = new Set<Change>(held);
  const changes = plan.changes.filter((change) => !waiting.has(change));
  const run = new Run(changes.length, options);
  for (const phase of Map.groupBy(changes, phaseOf).values())
    await mapWithConcurrency([...Map.groupBy(phase, unitOf).values()], CONCURRENCY, (unit) =>
      run.apply(unit),
    );
  return { ...run.result(), heldBack: held };
}

/** Changes of one unit are applied one after the other: those in one namespace or tenant that is checked. */
function unitOf(change: Change): string {
  const target = change.action === 'delete' ? undefined : change.desired.target;
  return target === undefined ? keyOf(change) : objectKey(target.kind, target.place, target.name);
}

function keyOf({ kind, place, object }: Change): string {
  return objectKey(kind, place, object.metadata.name);
}

class Run {
  readonly #total: number;
  readonly #options: ApplyOptions;
  readonly #done = new Set<Change>();
  readonly #failures: Failure[] = [];
  /** Key → title. */
  readonly #failed = new Map<string, string>();
  readonly #unanswered = new Set<string>();

  constructor(total: number, options: ApplyOptions) {
    this.#total = total;
    this.#options = options;
  }

  result(): Omit<ApplyResult, 'heldBack'> {
    return { done: [...this.#done], failures: this.#failures };
  }

  async apply(unit: readonly Change[]): Promise<void> {
    const { objects, signal } = this.#options;
    const written: Write[] = [];
    let before: { readonly found: StoredObject | undefined } | undefined;
    for (const change of unit) {
      const failure =
        this.#hindrance(change) ??
        (await this.#failureOf(change, async () => {
          const target = change.action === 'delete' ? undefined : change.desired.target;
          if (target !== undefined) {
            before ??= { found: await read(objects, target, signal) };
            const problem = target.problem(before.found);
            if (problem !== undefined) throw new Conflict(problem);
          }
          await writeChange(objects, change, signal);
          if (change.action !== 'delete' && target !== undefined) written.push(change);
        }));
      this.#report(change, failure);
    }
    const [first] = written;
    if (first === undefined) return;
    const failure = await this.#failureOf(first, () => this.#recheck(written, before?.found));
    if (failure !== undefined) for (const change of written) this.#report(change, failure);
  }

  /** Another object in the place of the target must not get what was meant for the former one. */
  async #recheck(written: readonly Write[], before: StoredObject | undefined): Promise<void> {
    const { objects, signal } = this.#options;
    const target = written[0]?.desired.target;
    const after = target && (await read(objects, target, signal));
    // If the target is gone, so is what was written into it.
    if (after === undefined || after.metadata.uid === before?.metadata.uid) return;
    for (const change of written) await revert(objects, change, signal);
    throw new Conflict('another namespace or tenant was put in its place meanwhile');
  }

  #hindrance(change: Change): string | undefined {
    if (this.#options.signal.aborted) return 'it was broken off before';
    if (this.#unanswered.size >= MAX_UNANSWERED || this.#unanswered.has(ownerOf(change)))
      return 'the API server did not respond before';
    if (change.action === 'delete') return undefined;
    const { requires = [] } = change.desired;
    const missing = requires.map((key) => this.#failed.get(key)).find((title) => title !== undefined);
    return missing && `it needs ${missing}, which could not be written`;
  }

  async #failureOf(change: Change, work: () => Promise<void>): Promise<string | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (error instanceof Conflict) return error.message;
      if (!(error instanceof StatusError)) throw error;
      if (UNANSWERED.has(error.code)) this.#unanswered.add(ownerOf(change));
      return reasonOf(error);
    }
  }

  #report(change: Change, failure: string | undefined): void {
    if (failure === undefined) this.#done.add(change);
    else {
      this.#done.delete(change);
      this.#failures.push({ change, reason: failure });
      this.#failed.set(keyOf(change), titleOf(change));
    }
    this.#options.onProgress?.({
      change,
      finished: this.#done.size + this.#failures.length,
      total: this.#total,
      ...(failure !== undefined && { failure }),
    });
  }
}

/** Whose change it is: one tenant or namespace must not end the run of the others. */
function ownerOf(change: Change): string {
  const { tenant, namespace } = change.place;
  return tenant ?? namespace ?? keyOf(change);
}

function read(objects: Objects, { kind, place, name }: Target, signal: AbortSignal) {
  return objects.get(kind, place, name, signal);
}

/** The components of a configuration that the command uses. */
export interface CommandReconciler {
  readonly plan: (signal: AbortSignal) => Promise<Plan>;
  /** Deletions of a larger share need `--force`. */
  readonly maxDeletedShare?: number;
  readonly apply: (
    plan: Plan,
    options: Pick<ApplyOptions, 'force' | 'onProgress' | 'signal'>,
  ) => Promise<ApplyResult>;
}
