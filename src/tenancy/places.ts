/**
 * Where objects are that belong to no single tenant of users: the operator's, and those of all tenants at
 * once.
 */
import { type Place, placeOf } from '../kubernetes/kubernetes-object.ts';
import type { TenancyFacts } from './facts.ts';

/** Of the section `tenancy`. */
export interface OperatorTenancy {
  readonly facts: Pick<TenancyFacts, 'operatorIsATenant'>;
  readonly systemTenant: string;
}

/** Arktos reads this name as all tenants, RBAC bindings included: no identity ever gets it. */
export const EVERY_TENANT = 'all';

/** @returns undefined if what belongs to the operator is in no tenant */
export function operatorTenant({ facts, systemTenant }: OperatorTenancy): string | undefined {
  return facts.operatorIsATenant ? systemTenant : undefined;
}

/** Where the objects are that a feature stores for all tenants. */
export function operatorPlace(
  { namespace }: { readonly namespace: string },
  tenancy: OperatorTenancy,
): Place {
  return placeOf({ tenant: operatorTenant(tenancy), namespace });
}

/** Where the objects of all tenants can be listed and watched at once. */
export function everywhere({ hasTenantsInPaths }: Pick<TenancyFacts, 'hasTenantsInPaths'>): Place {
  return hasTenantsInPaths ? { tenant: EVERY_TENANT } : {};
}
