/**
 * Which names a watch of namespaces begins with if the API server has to confirm some, and how it learns of
 * later reviews.
 */
import type { NameConfirmation } from '../../access/namespaces/namespace-watch-options.ts';
import type { VisibleNamespaces } from '../../access/namespaces/visible-namespaces.ts';
import { type NameReviews, type NamespacesRequest, type NamespacesState, viewOf } from './request.ts';

const POSTPONED =
  'the API server did not confirm the names of an open watch of namespaces; they are reviewed again in a minute';

export interface Confirmation {
  /**
   * Whether it is uncertain what a client has that was shown names by another process: of a name that is
   * refused and was never reviewed here, it is not known.
   */
  readonly isUncertain: boolean;
  /** When the watch begins. */
  begin(view: VisibleNamespaces): NameConfirmation;
}

/** @throws StatusError as the reviews do */
export async function confirmationOf(
  request: NamespacesRequest,
  state: NamespacesState,
  { review, confirm }: NameReviews,
): Promise<Confirmation> {
  const { outgoing, options, selection } = request;
  const { confirmed } = state;
  const of = (view: VisibleNamespaces) => ({ view, user: outgoing.user });
  const view = viewOf(request, state);
  const { names } = view;
  const selected = names.filter((name) => selection.mayMatch(name));
  const asked = new Set(selected);
  const unknown = new Set(selected.filter((name) => !confirmed.isKnown(of(view), name)));
  const allowed = await confirm(selected);
  const refused = selected.filter((name) => !allowed.has(name));
  const { resourceVersion = 0 } = options;
  const revoked = refused.filter((name) => confirmed.isRevokedSince(of(view), name, resourceVersion));
  return {
    isUncertain: refused.some((name) => unknown.has(name)),
    begin(current) {
      // By a review of another request, since those of this one.
      const lost = new Set(confirmed.refused(of(current), allowed));
      // The index alone decided about them then, and does not now.
      const unreviewed = new Set([...allowed].filter((name) => !asked.has(name)));
      return {
        reviewed: new Set(names.filter((name) => !unreviewed.has(name))),
        confirmed: new Set([...allowed].filter((name) => !lost.has(name) && !unreviewed.has(name))),
        revoked: [...revoked, ...lost],
        confirm: async (name) => (await confirm([name])).has(name),
        follow: (watch) =>
          confirmed.follow(of(current), {
            ...watch,
            review,
            postponed: (error) => state.logger.warn({ tenant: outgoing.tenant, error }, POSTPONED),
          }),
      };
    },
  };
}
