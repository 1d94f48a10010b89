/**
 * The feature `explain`: `whoami` and `explain`: who the caller is, and what would happen to a request.
 */
import { defineFeature } from '../define-feature.ts';

export const explain = defineFeature({ name: 'explain', sections: {}, reads: () => ({}) });

export type { Explain } from './explain-request.ts';
export { selfIdentityOf } from './handle-self-identity.ts';
