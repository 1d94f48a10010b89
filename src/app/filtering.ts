/**
 * What filters responses by the RBAC index: lists and watches of namespaces, those of all namespaces, and the
 * self reviews that agree with both.
 */
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

export interface Filtering {
  readonly namespaces: NamespacesAnswerer;
  readonly allNamespaces: AllNamespacesAnswerer;
  /** Whether a response would be filtered, and how. */
  readonly reason: FilteredReason;
  /** The same for self reviews, as far as they are configured. */
  readonly review: FilteredReview;
}

export function createFiltering(build: Build, options: ConfiguredAllNamespacesOptions): Filtering {
  const namespaces = createConfiguredNamespaces(build, options);
  const allNamespaces = createConfiguredAllNamespaces(build, options);
  const { selfReviews: extent } = build.loaded.configuration.access;
  const { wouldMerge } = allNamespaces;
  const reason = createFilteredReason({ mode: options.mode, namespaces, wouldMerge });
  const review = createFilteredReview({ extent, filteredReason: reason });
  return { namespaces, allNamespaces, reason, review };
}
