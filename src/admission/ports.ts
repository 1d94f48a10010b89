/**
 * What admission needs from outside: whose an object is. The tenancy modes implement it.
 */
import type { AdmissionRequest } from '../api/admission-v1.ts';

export interface ReviewedTenant {
  /** Whether the object belongs to a tenant; then the rules about its content hold. */
  readonly isTenants: boolean;
  /** Whether a tenant's user or service account sends the request. */
  readonly byTenant: boolean;
  /** Undefined if it cannot be told which tenant it is. */
  readonly tenant: string | undefined;
}

export interface AdmissionTenants {
  reviewedTenant(request: AdmissionRequest): ReviewedTenant;
  /** Whether it is a namespace of the cluster, which tenants' users may not create or change. */
  isSystemNamespace(name: string): boolean;
}
