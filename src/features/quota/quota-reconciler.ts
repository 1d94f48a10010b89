/**
 * Gives every tenant a TenantQuota, and writes what tenants use. Both run on the replica with the lease.
 */
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import type { Reconciler } from '../../kubernetes/reconcile/controller.ts';
import { type Comparison, type Desired, makePlan } from '../../kubernetes/reconcile/plan.ts';
import { TENANCY_API_VERSION } from '../cross-tenant/tenancy-v1alpha1.ts';
import { TENANT_QUOTAS } from './tenant-quota-v1alpha1.ts';
import type { UsageCounter } from './usage-counter.ts';

export interface QuotaReconcilerOptions {
  readonly objects: Objects;
  readonly place: Place;
  /** What a tenant may use that has no TenantQuota. */
  readonly byDefault: Readonly<Record<string, string>>;
  readonly createCounter: () => UsageCounter;
}

export interface QuotaReconciler extends Reconciler {
  /** Undefined on a replica without the lease. */
  readonly counter: UsageCounter | undefined;
}

export function createQuotaReconciler(options: QuotaReconcilerOptions): QuotaReconciler {
  const { objects, place, byDefault, createCounter } = options;
  let counter: UsageCounter | undefined;

  function desiredQuota(tenant: string): Desired {
    const object = {
      apiVersion: TENANCY_API_VERSION,
      kind: 'TenantQuota',
      metadata: { name: tenant, namespace: place.namespace ?? '' },
      spec: { hard: byDefault },
    };
    return {
      kind: TENANT_QUOTAS,
      place,
      object,
      reason: `tenant ${tenant}`,
      // The quota is the operator's once it is there.
      compare: (existing: StoredObject | undefined): Comparison =>
        existing === undefined ? { action: 'create', object } : { action: 'none' },
    };
  }

  return {
    get counter() {
      return counter;
    },
    lead() {
      counter = createCounter();
      counter.start();
      return async () => {
        const ended = counter;
        counter = undefined;
        await ended?.stop();
      };
    },
    plan: () =>
      makePlan({
        desired: counter?.isComplete ? counter.tenantsWithout().map(desiredQuota) : [],
        existing: [],
      }),
    async apply(plan, signal) {
      const applied = await applyPlan(plan, { objects, signal });
      const failures = (await counter?.write(signal)) ?? [];
      return { ...applied, failures: [...applied.failures, ...failures] };
    },
  };
}
