/**
 * Holds the policies in force, for parts that outlive a change of them.
 */
import type { Policies } from '../../proxy/tenant-entry.ts';

export interface PoliciesInForce extends Policies {
  /** Takes effect with the next request. */
  replace(policies: Policies): void;
}

export function createPoliciesInForce(initial: Policies): PoliciesInForce {
  let current = initial;
  return {
    permits: (entry, attributes, now) => current.permits(entry, attributes, now),
    admitting: (entry, now) => current.admitting(entry, now),
    replace(policies) {
      current = policies;
    },
  };
}
