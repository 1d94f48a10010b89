/**
 * Self reviews about what is answered with a filtered response: "allowed", since many clients ask before they
 * list, and would not list after a "no". The reason says that the response is filtered.
 */
import type { ResourceAttributes } from '../../api/authorization-v1.ts';
import type { NamespacesAnswerer } from '../namespaces/answer-namespaces.ts';
import type { Outgoing } from '../request-context.ts';

/** Whether a request for a kind in all namespaces would be answered with those of some namespaces. */
export type WouldMerge = (outgoing: Outgoing, attributes: ResourceAttributes) => Promise<boolean>;

export interface FilteredReviewsOptions {
  /** For which requests. */
  readonly extent: 'none' | 'namespaces' | 'all';
  readonly namespaces: Pick<NamespacesAnswerer, 'wouldFilter'>;
  readonly wouldMerge: WouldMerge;
}

/** @returns the reason of an "allowed"; undefined if the API server is to be asked */
export type FilteredReview = (
  outgoing: Outgoing,
  attributes: ResourceAttributes,
) => Promise<string | undefined>;

export function createFilteredReview({
  extent,
  namespaces,
  wouldMerge,
}: FilteredReviewsOptions): FilteredReview {
  return async (outgoing, attributes) => {
    const { verb, group = '', resource = '', subresource = '', name = '' } = attributes;
    if (extent === 'none' || (verb !== 'list' && verb !== 'watch')) return undefined;
    if (subresource !== '' || name !== '') return undefined;
    if (group === '' && resource === 'namespaces')
      return (await namespaces.wouldFilter(outgoing, verb))
        ? `Stonegate: the ${verb} is filtered: it has the namespaces that the user may get`
        : undefined;
    if (extent !== 'all' || (attributes.namespace ?? '') !== '' || resource === 'secrets') return undefined;
    return (await wouldMerge(outgoing, attributes))
      ? `Stonegate: the ${verb} is filtered: it has the namespaces in which the user may ${verb} ${resource}`
      : undefined;
  };
}
