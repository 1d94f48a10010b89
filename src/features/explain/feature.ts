/**
 * The feature `explain`: `whoami` and `explain`: who the caller is, and what would happen to a request.
 */
import { defineFeature } from '../define-feature.ts';
import { EXPLANATIONS, SELF_IDENTITY } from './stonegate-v1alpha1.ts';

export const explain = defineFeature({
  name: 'explain',
  sections: {},
  ownResources: [SELF_IDENTITY, EXPLANATIONS],
  reads: () => ({}),
});

export type { Explain } from './explain-request.ts';
