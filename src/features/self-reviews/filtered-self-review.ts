/**
 * Self reviews about what is answered with a filtered response: "allowed", since many clients ask before they
 * list, and would not list after a "no". The reason says that the response is filtered.
 */

import type { ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import type { FilteredReason } from '../../proxy/filtered-reason.ts';
import type { Outgoing } from '../../proxy/request-context.ts';

export interface FilteredReviewOptions {
  /** The requests whose review may be answered here: `access.selfReviews`. */
  readonly extent: 'none' | 'namespaces' | 'all';
  readonly filteredReason: FilteredReason;
}

/** @returns the reason of an "allowed"; undefined if the API server is to be asked */
export type FilteredReview = (
  outgoing: Outgoing,
  attributes: ResourceAttributes,
) => Promise<string | undefined>;

/** What of the core group is answered without a request to each namespace. */
const ALWAYS: ReadonlySet<string> = new Set(['namespaces', 'tenants']);

export function createFilteredReview({ extent, filteredReason }: FilteredReviewOptions): FilteredReview {
  return async (outgoing, attributes) => {
    const { group = '', resource = '' } = attributes;
    const isAlways = group === '' && ALWAYS.has(resource);
    if (extent === 'none' || (extent === 'namespaces' && !isAlways) || resource === 'secrets')
      return undefined;
    const reason = await filteredReason(outgoing, attributes);
    return typeof reason === 'string' ? `Stonegate: ${reason}` : undefined;
  };
}
