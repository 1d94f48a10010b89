/**
 * Access rules: everything that a user may do, for services that show data of the cluster.
 */
export { bytesOfRules, MAX_DOCUMENT } from './access-rules.ts';
