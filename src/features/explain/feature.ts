/**
 * `whoami` and `explain`: who the caller is, and what would happen to a request.
 */
export { selfIdentityOf } from './handle-self-identity.ts';
