/**
 * The feature `own-api`: Stonegate's own API group: its documents in discovery, and the rights that its calls need.
 */
import { defineFeature } from '../define-feature.ts';

export const ownAPI = defineFeature({ name: 'own-api', sections: {}, reads: () => ({}) });
