/**
 * What a request concerns in Keystone's terms, for those whose roles are looked up: the one parse that decides about
 * authorization and forwarding decides about this too.
 */
import type { Identity, TenantName } from '../api/identity.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { RoleScope } from '../bindings/roles-in-scope.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';

/** @param tenant the identity's own */
export function concernOf(
  info: RequestInfo,
  { tenantOrigin }: Identity,
  tenant: TenantName,
  mode: Pick<TenancyMode, 'concernsCluster'>,
): RoleScope {
  const named = info.isResourceRequest ? info.tenant : '';
  const own = named === '' || named === tenant;
  return {
    domainID: own && tenantOrigin.from === 'domain' ? tenantOrigin.domain.id : undefined,
    namespace: info.isResourceRequest ? info.namespace : '',
    cluster: mode.concernsCluster(info, tenant),
  };
}
