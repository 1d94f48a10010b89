/**
 * The feature `own-api`: the documents of Stonegate's own API group in discovery, and the rights that its
 * calls need.
 */
import { defineFeature } from '../define-feature.ts';

export const ownAPI = defineFeature({ name: 'own-api', sections: {}, reads: () => ({}) });
