/**
 * Kinds that belong to the system: tenants cannot create or change objects of them. Nodes and Arktos' tenants
 * belong to no tenant, so the user decides about them; the others are refused in tenants, no matter which
 * user sends the request.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import type { ReviewedTenant } from './ports.ts';
import type { Violation } from './violation.ts';

/** The resource of Tenant objects, as `group/resource`. */
const TENANTS = '/tenants';
const OF_NO_TENANT: ReadonlySet<string> = new Set(['/nodes', TENANTS]);
const IN_NO_TENANT: readonly string[] = ['apps/daemonsets', 'extensions/daemonsets'];

/**
 * @param name as kubectl writes it: `resourcequotas`, `ingresses.networking.k8s.io`
 * @returns `group/resource`
 */
function kindKeyOf(name: string): string {
  const [resource = '', ...group] = name.split('.');
  return `${group.join('.')}/${resource}`;
}

export function createSystemKinds(
  configured: readonly string[],
  isArktos: boolean,
): (request: AdmissionRequest, reviewed: ReviewedTenant) => Violation[] {
  const inNoTenant = new Set([...IN_NO_TENANT, ...configured.map(kindKeyOf)]);
  return ({ group, resource, subresource, operation }, { isTenants, byTenant }) => {
    const key = `${group}/${resource}`;
    // The labels of a Tenant, which decide what the tenant receives, change through subresources too.
    if (operation === 'CONNECT' || (subresource !== '' && key !== TENANTS)) return [];
    const isRefused =
      (OF_NO_TENANT.has(key) && byTenant) ||
      // Controllers finish what is there: they set a finalizer or an owner, and delete.
      (inNoTenant.has(key) && (operation === 'CREATE' ? isTenants : operation === 'UPDATE' && byTenant));
    if (!isRefused) return [];
    const name = group === '' ? resource : `${resource}.${group}`;
    const refused = `kind: ${name} are only for the system`;
    // On Arktos the tenant of other objects counts, no matter which user sends the request.
    const message =
      isArktos && !OF_NO_TENANT.has(key)
        ? refused
        : `${refused}; its operator can name its users in admission.systemUsers`;
    return [{ rule: 'systemKinds', path: 'kind', value: name, message }];
  };
}
