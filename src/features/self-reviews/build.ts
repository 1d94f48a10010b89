/**
 * Self reviews: what a user may do, as the user would find out by trying. Guests have their own, which ask
 * the policies too.
 */

import type { Feature } from '../../proxy/feature.ts';
import type { FilteredReason } from '../../proxy/filtered-reason.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { ProxyBuild } from '../build.ts';
import type { SelfReviewsParts } from './feature.ts';
import { createGuestReviewHandler } from './handle-guest-review.ts';
import { createSelfReviewHandler } from './handle-self-review.ts';

/** @param filteredReason undefined, as is the index, if the configuration has no index */
export function createSelfReviews(
  build: ProxyBuild<SelfReviewsParts>,
  access: AccessIndex | undefined,
  filteredReason: FilteredReason | undefined,
): Feature {
  const { parts, upstream: fetcher, subjects, ownBodies, policies } = build;
  const { extent, authorizers } = parts.reviews;
  const options = { ...build, ...ownBodies };
  return {
    handlers: {
      'self-review': createSelfReviewHandler({
        ...options,
        fetcher,
        requestAs: subjects.requestAs,
        ...(filteredReason && { filtered: { extent, reason: filteredReason } }),
        ...(access && { indexed: { access, authorizers } }),
      }),
      ...(policies && { 'guest-review': createGuestReviewHandler({ ...options, policies }) }),
    },
  };
}
