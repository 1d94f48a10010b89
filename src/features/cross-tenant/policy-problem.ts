/**
 * What is wrong with a CrossTenantPolicy, told to its author when they write it: the admission webhook
 * refuses what would grant nothing, by the same evaluation.
 */
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { Clock } from '../../lib/clock.ts';
import { createRulesCheck } from '../../rbac/granted-rules.ts';
import { InvalidPolicy } from '../../rbac/invalid-policy.ts';
import { createCrossTenantPolicies } from './cross-tenant-policies.ts';
import { readCrossTenantPolicy } from './read-policy-object.ts';

export interface PolicyProblemOptions {
  readonly systemTenant: string;
  /** `access.grantable`; undefined if it is not known: then rules beyond it are not refused here. */
  readonly grantable: readonly PolicyRule[] | undefined;
  readonly clock: Clock;
}

/** @returns says why the object of a tenant grants nothing; undefined if it is valid */
export function createPolicyProblem({
  systemTenant,
  grantable,
  clock,
}: PolicyProblemOptions): (object: unknown, tenant: string) => string | undefined {
  const checkRules = createRulesCheck(grantable);
  const crossTenantPolicy = createCrossTenantPolicies({ systemTenant, checkRules });
  // The webhook that asks is registered, and the object is new.
  const webhook = { registered: true, since: 0 } as const;
  return (object, tenant) => {
    const policy = readCrossTenantPolicy(object);
    if (policy === undefined) return 'it is no CrossTenantPolicy of a known version';
    const now = clock.now();
    const creationTimestamp = new Date(now).toISOString();
    const stored = { ...policy, metadata: { ...policy.metadata, tenant, creationTimestamp } };
    try {
      crossTenantPolicy(stored, { webhook, now });
      return undefined;
    } catch (error) {
      if (error instanceof InvalidPolicy) return error.message;
      throw error;
    }
  };
}
