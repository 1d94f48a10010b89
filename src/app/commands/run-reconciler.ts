/**
 * Makes the plan of a command and applies it, or only shows it. Names of objects are untrusted text;
 * `columns` replaces their control characters.
 */
import { type CommandIO, columns, EXIT } from '../../cli/command.ts';
import { type Place, placeName } from '../../kubernetes/kubernetes-object.ts';
import { type ApplyOptions, applyPlan, type Progress } from '../../kubernetes/reconcile/apply.ts';
import { heldBack, type Loss, lossesOf } from '../../kubernetes/reconcile/deletion-guard.ts';
import type { ChangedObject, Plan } from '../../kubernetes/reconcile/plan.ts';

interface Run extends Pick<ApplyOptions, 'objects' | 'maxDeletedShare' | 'force'> {
  readonly plan: (signal: AbortSignal) => Promise<Plan>;
  readonly dryRun: boolean;
  /** Tells the operator what to do about refusals. With it, a run that refuses something fails. */
  readonly refusedRemedy?: string;
}

/** @returns the exit code */
export async function runReconciler(
  { plan: makePlan, objects, maxDeletedShare, force, dryRun, refusedRemedy }: Run,
  { stdout, stderr }: CommandIO,
): Promise<number> {
  // Never aborted: an interrupted process just ends, because each change is independent.
  const { signal } = new AbortController();
  const plan = await makePlan(signal);
  for (const { subject, reason } of plan.unread) stderr(columns([[`not read: ${subject}: ${reason}`]]));
  const held = heldBack(plan, force ? undefined : maxDeletedShare);
  const failed = dryRun ? 0 : await applyAndPrint();
  if (dryRun) stdout(planTables(plan));
  if (held.length > 0) stderr(heldBackLine(lossesOf(held, plan)));
  const refused = refusedRemedy !== undefined && plan.refusals.length > 0;
  if (refused) stderr(`${refusedRemedy}\n`);
  const isIncomplete = failed > 0 || ((held.length > 0 || refused) && !dryRun);
  return plan.unread.length > 0 || isIncomplete ? EXIT.failed : EXIT.fine;

  /** @returns how many changes failed */
  async function applyAndPrint(): Promise<number> {
    const onProgress = (progress: Progress) =>
      (progress.failure === undefined ? stdout : stderr)(progressLine(progress));
    const options = { objects, maxDeletedShare, force, onProgress, signal };
    const { done, failures } = await applyPlan(plan, options);
    for (const { subject, reason } of plan.refusals) stderr(columns([[`refused: ${subject}: ${reason}`]]));
    stdout(`${done.length} done, ${failures.length} failed, ${restOf(plan)}\n`);
    return failures.length;
  }
}

/** The most places that are named; `--dry-run` shows every object. */
const NAMED = 5;

/** The whole plan, for `--dry-run`. */
function planTables(plan: Plan): string {
  const changes = plan.changes.map((change) => [change.action, ...cellsOf(change), change.reason]);
  const refusals = plan.refusals.map(({ subject, reason }) => [subject, reason]);
  const count = (action: ChangedObject['action']) =>
    plan.changes.filter((change) => change.action === action).length;
  return [
    ...(changes.length === 0 ? [] : [columns([['ACTION', 'KIND', 'PLACE', 'NAME', 'WHY'], ...changes])]),
    ...(refusals.length === 0 ? [] : [columns([['REFUSED', 'WHY'], ...refusals])]),
    `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete, ${restOf(plan)}\n`,
  ].join('\n');
}

function restOf({ unchanged, refusals }: Plan): string {
  return `${unchanged} as they should be, ${refusals.length} refused`;
}

function progressLine({ change, failure, finished, total }: Progress): string {
  const words = [`[${finished}/${total}]`, change.action, ...cellsOf(change)].join(' ');
  return columns([[failure === undefined ? `${words} (${change.reason})` : `${words} FAILED: ${failure}`]]);
}

/** @param losses per place whose deletions are held back, the largest first */
function heldBackLine(losses: readonly Loss[]): string {
  const count = losses.reduce((sum, { going }) => sum + going, 0);
  const named = losses
    .slice(0, NAMED)
    .map(({ place, going, there }) => `${whereOf(place)} (${going} of ${there})`);
  const more = losses.length > NAMED ? `, and ${losses.length - NAMED} more` : '';
  return columns([
    [
      `${count} removals are more than bindings.maxDeletedShare allows and wait for --force, of the bindings in: ${named.join(', ')}${more}`,
    ],
  ]);
}

function cellsOf({ object, place }: ChangedObject): [string, string, string] {
  return [object.kind, whereOf(place), object.metadata.name];
}

function whereOf(place: Place): string {
  return placeName(place) || '-';
}
