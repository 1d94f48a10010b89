/**
 * Holds the policies in force, for parts that outlive a change of them.
 */
import type { PolicySet } from './policy-set.ts';
import type { Policies } from './ports.ts';

export interface PoliciesInForce extends Policies {
  /** Takes effect with the next request; then those who asked for it are told. */
  replace(policies: PolicySet): void;
}

export function createPoliciesInForce(initial: PolicySet): PoliciesInForce {
  let current = initial;
  const callbacks = new Set<{ readonly call: () => void }>();
  return {
    permits: (entry, attributes, now) => current.permits(entry, attributes, now),
    admitting: (entry, now) => current.admitting(entry, now),
    onChange(call) {
      const callback = { call };
      callbacks.add(callback);
      return () => {
        callbacks.delete(callback);
      };
    },
    replace(policies) {
      current = policies;
      for (const { call } of [...callbacks]) call();
    },
  };
}
