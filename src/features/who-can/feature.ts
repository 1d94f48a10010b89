/**
 * The feature `who-can`: ResourceAccessReviews and LocalResourceAccessReviews. See docs/access.md.
 */
import { defineFeature } from '../define-feature.ts';
import { WHO_CAN_RESOURCES } from './who-can-v1alpha1.ts';

export const whoCan = defineFeature({
  name: 'who-can',
  sections: {},
  ownResources: Object.values(WHO_CAN_RESOURCES),
  reads: () => ({}),
});

export type { KeystoneNames } from './keystone-names.ts';
