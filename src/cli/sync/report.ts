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
  readonly existingByPlace: ReadonlyMap<string, number>;
  readonly unchanged: number;
}

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

function cellsOf({ object, place }: ShownChange): [string, string, string] {
  const where = [place.tenant, place.namespace].filter((part) => part !== undefined).join('/');
  return [object.kind, where === '' ? '-' : where, object.metadata.name];
}

function countsOf({ changes }: ShownPlan): string {
  const count = (action: ShownChange['action']) =>
    changes.filter((change) => change.action === action).length;
  return `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete`;
}
