/**
 * The feature `self-reviews`: what a user may do, as the user would find out by trying.
 */
import type { AuthorizationMode } from '../../kubernetes/authorization-mode.ts';
import { defineFeature } from '../define-feature.ts';

interface SelfReviewsReads {
  readonly access: {
    readonly selfReviews: 'none' | 'namespaces' | 'all';
    readonly authorizers: readonly AuthorizationMode[];
  };
}

export const selfReviews = defineFeature({
  name: 'self-reviews',
  sections: {},
  reads: ({ access: { selfReviews: extent, authorizers } }: SelfReviewsReads) => ({
    reviews: { extent, authorizers },
  }),
});

export type SelfReviewsParts = ReturnType<typeof selfReviews.reads>;
