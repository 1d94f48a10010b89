/**
 * What the changes mean for a client that has missed them: which namespaces they touch, and whether a watch
 * can go on after them.
 */
import type { AccessChange } from '../../rbac/change.ts';
import type { LoggedChange } from './change-log.ts';
import type { VisibleNamespaces } from './visible-namespaces.ts';

export interface Touched {
  readonly revision: number;
  readonly byAccess: boolean;
  /** False if only the object has changed. */
  readonly isNew: boolean;
}

/** In the order of the names. */
export function touchedBy(
  changes: readonly LoggedChange[],
  view: VisibleNamespaces,
): (readonly [name: string, touched: Touched])[] {
  const touched = new Map<string, Touched>();
  const touch = (name: string, revision: number, byAccess: boolean, isNew: boolean) => {
    const before = touched.get(name);
    touched.set(name, {
      revision: Math.max(revision, before?.revision ?? 0),
      byAccess: byAccess || before?.byAccess === true,
      isNew: isNew || before?.isNew === true,
    });
  };
  for (const change of changes) {
    if (change.tenant !== view.tenant) continue;
    const { revision } = change;
    if (change.kind === 'namespace') touch(change.name, revision, false, change.type !== 'MODIFIED');
    else if (view.concerns(change)) for (const name of change.namespaces) touch(name, revision, true, true);
  }
  return [...touched].sort(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * Whether a watch can go on after the changes. If one concerned the whole cluster, or may have taken a
 * namespace before it was known what the user sees, it is not known which namespaces the client has; and a
 * name that the user never saw must not be told.
 */
export function canReplay(changes: readonly LoggedChange[], view: VisibleNamespaces): boolean {
  return changes.every(
    (change) =>
      change.kind === 'namespace' ||
      change.tenant !== view.tenant ||
      !view.concerns(change) ||
      (!change.namespaces.has('') && (view.hasSeenSince(change.revision) || seesAll(change, view))),
  );
}

function seesAll({ namespaces }: AccessChange, view: VisibleNamespaces): boolean {
  return [...namespaces].every((name) => view.get(name) !== undefined);
}
