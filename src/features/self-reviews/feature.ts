/**
 * The feature `self-reviews`: what a user may do, as the user would find out by trying.
 */
import { defineFeature } from '../define-feature.ts';
import type { AccessConfiguration } from '../rbac-index/feature.ts';

export const selfReviews = defineFeature({
  name: 'self-reviews',
  sections: {},
  reads: ({ access: { selfReviews: extent, authorizers } }: { readonly access: AccessConfiguration }) => ({
    reviews: { extent, authorizers },
  }),
});

export type SelfReviewsParts = ReturnType<typeof selfReviews.reads>;
