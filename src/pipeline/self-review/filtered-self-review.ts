/**
 * Self reviews about what is answered with a filtered response: "allowed", since many clients ask before they
 * list, and would not list after a "no". The reason says that the response is filtered.
 */
import type { ResourceAttributes } from '../../api/authorization-v1.ts';
import type { NamespacesAnswerer } from '../namespaces/answer-namespaces.ts';
import type { Outgoing } from '../request-context.ts';

/** Whether a request for a kind in all namespaces would be answered with those of some namespaces. */
export type WouldMerge = (outgoing: Outgoing, attributes: ResourceAttributes) => Promise<boolean>;

export interface FilteredReasonOptions {
  readonly namespaces: Pick<NamespacesAnswerer, 'wouldFilter'>;
  readonly wouldMerge: WouldMerge;
}

/** @returns why a request is allowed although the API server would refuse it; undefined if it is not */
export type FilteredReason = (
  outgoing: Outgoing,
  attributes: ResourceAttributes,
) => Promise<string | undefined>;

/** Of requests for a kind, not for an object or a subresource. */
export function createFilteredReason({ namespaces, wouldMerge }: FilteredReasonOptions): FilteredReason {
  return async (outgoing, attributes) => {
    const { verb, group = '', resource = '', subresource = '', name = '' } = attributes;
    if ((verb !== 'list' && verb !== 'watch') || subresource !== '' || name !== '') return undefined;
    if (group === '' && resource === 'namespaces')
      return (await namespaces.wouldFilter(outgoing, verb))
        ? `the ${verb} is filtered: it has the namespaces that the user may get`
        : undefined;
    if ((attributes.namespace ?? '') !== '') return undefined;
    return (await wouldMerge(outgoing, attributes))
      ? `the ${verb} is filtered: it has the namespaces in which the user may ${verb} ${resource}`
      : undefined;
  };
}

export interface FilteredReviewOptions {
  /** For which requests. */
  readonly extent: 'none' | 'namespaces' | 'all';
  readonly filteredReason: FilteredReason;
}

/** @returns the reason of an "allowed"; undefined if the API server is to be asked */
export function createFilteredReview({ extent, filteredReason }: FilteredReviewOptions): FilteredReason {
  return async (outgoing, attributes) => {
    const { group = '', resource = '' } = attributes;
    const isNamespaces = group === '' && resource === 'namespaces';
    if (extent === 'none' || (extent === 'namespaces' && !isNamespaces) || resource === 'secrets')
      return undefined;
    const reason = await filteredReason(outgoing, attributes);
    return reason && `Stonegate: ${reason}`;
  };
}
