/**
 * The changes between what a client has seen and the present, from which a watch goes on. A client that lists
 * watches from the revision of its list: the list has one from which a watch can go on.
 */
import type { LoggedChange } from '../../access/namespaces/change-log.ts';
import { canReplay } from '../../access/namespaces/replay.ts';
import type { VisibleNamespaces } from '../../access/namespaces/visible-namespaces.ts';
import { type NamespacesRequest, type NamespacesState, REVISION_TIMEOUT } from './request.ts';

/**
 * @param mayBeOfAnEvent as of `ChangeLog.since`
 * @returns undefined if it is not known any more what the client has seen
 */
export function missedSince(
  revision: number,
  mayBeOfAnEvent: boolean,
  { changes }: Pick<NamespacesState, 'changes'>,
  view: VisibleNamespaces,
): readonly LoggedChange[] | undefined {
  const missed = changes.since(revision, mayBeOfAnEvent);
  return missed !== undefined && canReplay(missed, view) ? missed : undefined;
}

/**
 * The present revision is that of the resource in which nothing has changed for longest. If the user's access
 * has changed since then in a way that cannot be replayed, a list waits until the revision is beyond the
 * change. It is returned all the same if that takes too long.
 */
export async function waitUntilWatchable(
  { subject, tenant, outgoing }: NamespacesRequest,
  state: NamespacesState,
): Promise<void> {
  const { access, changes, views } = state;
  const view = views.viewOf(subject, tenant);
  if (missedSince(access.index.revision, true, state, view) !== undefined) return;
  await access.waitFor(changes.known, REVISION_TIMEOUT, outgoing.exchange.signal);
}
