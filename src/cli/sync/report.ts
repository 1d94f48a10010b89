/**
 * A plan for people: each change a line, what was refused and why, and the totals. Names of projects and objects are
 * other people's text: `columns` keeps them from steering the terminal.
 */
import { columns } from '../output.ts';

export interface ShownChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly object: { readonly kind: string; readonly metadata: { readonly name: string } };
  readonly place: { readonly tenant?: string; readonly namespace?: string };
  readonly reason: string;
}

export interface ShownPlan {
  readonly changes: readonly ShownChange[];
  readonly refusals: readonly { readonly subject: string; readonly reason: string }[];
  readonly unchanged: number;
}

/** What a namespace or tenant would lose, of how many bindings. */
export interface ShownLoss {
  readonly place: ShownChange['place'];
  readonly going: number;
  readonly there: number;
}

/** Of many places so many are named; `--dry-run` shows every binding. */
const NAMED = 5;

/** Everything that would be done. */
export function planTables(plan: ShownPlan): string {
  const changes = plan.changes.map((change) => [change.action, ...cellsOf(change), change.reason]);
  const refusals = plan.refusals.map(({ subject, reason }) => [subject, reason]);
  return [
    ...(changes.length === 0 ? [] : [columns([['ACTION', 'KIND', 'PLACE', 'NAME', 'WHY'], ...changes])]),
    ...(refusals.length === 0 ? [] : [columns([['REFUSED', 'WHY'], ...refusals])]),
    columns([[`${countsOf(plan)}, ${plan.unchanged} as they should be, ${refusals.length} refused`]]),
  ].join('\n');
}

/** @param failure why it could not be done; undefined where it was */
export function changeLine(change: ShownChange, progress: string, failure: string | undefined): string {
  const words = [`[${progress}]`, change.action, ...cellsOf(change)].join(' ');
  return columns([[failure === undefined ? `${words} (${change.reason})` : `${words} FAILED: ${failure}`]]);
}

export function totalsLine(plan: ShownPlan, done: number, failed: number): string {
  const { unchanged, refusals } = plan;
  return `${done} done, ${failed} failed, ${unchanged} as they should be, ${refusals.length} refused\n`;
}

/** @param losses of the places where nothing is removed, the largest first */
export function heldBackLine(losses: readonly ShownLoss[]): string {
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

function cellsOf({ object, place }: ShownChange): [string, string, string] {
  return [object.kind, whereOf(place), object.metadata.name];
}

function whereOf({ tenant, namespace }: ShownChange['place']): string {
  const where = [tenant, namespace].filter((part) => part !== undefined).join('/');
  return where === '' ? '-' : where;
}

function countsOf({ changes }: ShownPlan): string {
  const count = (action: ShownChange['action']) =>
    changes.filter((change) => change.action === action).length;
  return `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete`;
}
