/**
 * Whether a path leads nowhere but into one tenant. An Arktos API server lets a tenant's administrator, on their own
 * credential, do as they please with what is kept once for the whole cluster, since a short path counts as theirs; so
 * only the tenant's full path is theirs. Looks at the path as it would be sent, and trusts nothing decided before.
 */
import type { TenantName } from '../api/identity.ts';

/** Up to the tenant's name and behind it. `tenants/T`, `…/status` and `…/finalize` are the Tenant object itself. */
const FULL_PATH =
  /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:watch\/)?tenants\/([^/]+)\/(?!(?:status|finalize)(?:\/|$))[^/]/;

/** @param path without its query, of a form that `path-rules.ts` lets through */
export function isWithinTenant(path: string, tenant: TenantName): boolean {
  return FULL_PATH.exec(path)?.[1] === tenant;
}
