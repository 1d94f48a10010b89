/**
 * Gives every tenant a TenantQuota, keeps those of Keystone's domains at their limits, and writes what
 * tenants use. All run on the replica with the lease.
 */
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import type { Reconciler } from '../../kubernetes/reconcile/controller.ts';
import { type Comparison, type Desired, makePlan, type Plan } from '../../kubernetes/reconcile/plan.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { Hard, KeystoneQuota, TenantHards } from '../keystone-limits/feature.ts';
import { TENANT_QUOTAS } from './tenant-quota-v1alpha1.ts';
import type { UsageCounter } from './usage-counter.ts';

export interface QuotaReconcilerOptions {
  readonly objects: Objects;
  readonly place: Place;
  /** What a tenant may use that has no TenantQuota. */
  readonly byDefault: Readonly<Record<string, string>>;
  /** Undefined: no limits of Keystone are used. */
  readonly ofTenants?: KeystoneQuota['ofTenants'] | undefined;
  readonly createCounter: () => UsageCounter;
}

const NO_LIMITS: TenantHards = { hards: new Map(), refusals: [] };
const NOT_READ = { subject: "Keystone's limits", reason: 'they have not been read yet' };

export interface QuotaReconciler extends Reconciler {
  /** Undefined on a replica without the lease. */
  readonly counter: UsageCounter | undefined;
}

export function createQuotaReconciler(options: QuotaReconcilerOptions): QuotaReconciler {
  const { objects, place, byDefault, ofTenants, createCounter } = options;
  let counter: UsageCounter | undefined;

  function desiredQuota(tenant: string, limit?: Hard): Desired {
    const object = {
      apiVersion: TENANCY_API_VERSION,
      kind: 'TenantQuota',
      metadata: { name: tenant, namespace: place.namespace ?? '' },
      spec: { hard: limit ?? byDefault },
    };
    return {
      kind: TENANT_QUOTAS,
      place,
      object,
      reason: `tenant ${tenant}`,
      compare(existing: StoredObject | undefined): Comparison {
        if (existing === undefined) return { action: 'create', object };
        // Without limits of Keystone the quota is the operator's once it is there.
        if (limit === undefined || isEqual(existing.spec, object.spec)) return { action: 'none' };
        return { action: 'update', object: { ...existing, ...object, metadata: existing.metadata } };
      },
    };
  }

  /** Until Keystone's limits are known, no quota is created or changed. */
  function planQuotas(counted: UsageCounter): Promise<Plan> {
    const limits = ofTenants === undefined ? NO_LIMITS : ofTenants();
    if (limits === undefined) return makePlan({ desired: [], existing: [], unread: [NOT_READ] });
    const { hards, refusals } = limits;
    const quotas = counted.quotas();
    const limited = quotas.map(({ metadata }) => metadata.name).filter((tenant) => hards.has(tenant));
    return makePlan({
      desired: [...counted.tenantsWithout(), ...limited].map((tenant) =>
        desiredQuota(tenant, hards.get(tenant)),
      ),
      existing: quotas.map((quota) => ({ kind: TENANT_QUOTAS, place, object: { ...quota } })),
      refusals,
    });
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
      counter?.isComplete === true ? planQuotas(counter) : makePlan({ desired: [], existing: [] }),
    async apply(plan, signal) {
      const applied = await applyPlan(plan, { objects, signal });
      const failures = (await counter?.write(signal)) ?? [];
      return { ...applied, failures: [...applied.failures, ...failures] };
    },
  };
}
