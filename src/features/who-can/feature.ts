/**
 * The feature `who-can`: ResourceAccessReviews and LocalResourceAccessReviews. See docs/access.md.
 */
import { defineFeature } from '../define-feature.ts';

export const whoCan = defineFeature({ name: 'who-can', sections: {}, reads: () => ({}) });

export { type KeystoneNames, knownScopes } from './keystone-names.ts';
