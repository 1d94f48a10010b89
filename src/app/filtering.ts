/**
 * What filters responses by the RBAC index: lists and watches of namespaces, those of all namespaces, and the
 * self reviews that agree with both.
 */
import { filteringMode } from '../api/authorization-mode.ts';
import type { AllNamespacesAnswerer } from '../pipeline/all-namespaces/answer-all-namespaces.ts';
import type { NamespacesAnswerer } from '../pipeline/namespaces/answer-namespaces.ts';
import {
  createFilteredReason,
  createFilteredReview,
  type FilteredReason,
  type FilteredReview,
} from '../pipeline/self-review/filtered-self-review.ts';
import { type ConfiguredAllNamespacesOptions, createConfiguredAllNamespaces } from './all-namespaces.ts';
import type { Build } from './build.ts';
import { createConfiguredNamespaces } from './namespaces.ts';

export interface FilteredLists {
  readonly namespaces: NamespacesAnswerer;
  readonly allNamespaces: AllNamespacesAnswerer;
}

export interface Filtering {
  /** Undefined if it is not known who decides. */
  readonly lists: FilteredLists | undefined;
  /** Whether a response would be filtered, and how. */
  readonly reason: FilteredReason;
  /** The same for self reviews, as far as they are configured. */
  readonly review: FilteredReview;
}

export function createFiltering(build: Build, options: ConfiguredAllNamespacesOptions): Filtering {
  const { access } = build.loaded.configuration;
  const lists =
    filteringMode(access) === 'off'
      ? undefined
      : {
          namespaces: createConfiguredNamespaces(build, options),
          allNamespaces: createConfiguredAllNamespaces(build, options),
        };
  const reason = createFilteredReason({
    mode: options.mode,
    ...(lists && { namespaces: lists.namespaces, wouldMerge: lists.allNamespaces.wouldMerge }),
  });
  const review = createFilteredReview({ extent: access.selfReviews, filteredReason: reason });
  return { lists, reason, review };
}
