/**
 * Which requests change what discovery says: writes to the objects that define API groups and resources.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/
 */
import type { TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { TenancyMode } from './tenancy-mode.ts';

const DEFINING: ReadonlyMap<string, string> = new Map([
  ['apiextensions.k8s.io', 'customresourcedefinitions'],
  ['apiregistration.k8s.io', 'apiservices'],
]);
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Whose discovery it is: one tenant's, or all tenants'. */
export type DiscoveryChange = { readonly owner: TenantName | undefined };

/**
 * @param tenant of the user; a path may name another, for users of the system tenant
 * @returns undefined for a request that changes nothing of it: nearly every one
 */
export function discoveryChange(
  info: RequestInfo,
  tenant: TenantName,
  mode: Pick<TenancyMode, 'concernsCluster' | 'readsTenantFromPath'>,
): DiscoveryChange | undefined {
  // Without tenants in paths discovery is forwarded, and nothing of it is kept.
  if (!mode.readsTenantFromPath) return undefined;
  if (!info.isResourceRequest || DEFINING.get(info.apiGroup) !== info.resource) return undefined;
  if (!WRITES.has(info.verb)) return undefined;
  const concerned = info.tenant === '' ? tenant : info.tenant;
  return { owner: mode.concernsCluster(info, concerned) ? undefined : concerned };
}
