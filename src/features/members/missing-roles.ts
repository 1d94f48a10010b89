/**
 * Finds the roles that members are given and that do not exist: in each tenant, if tenants have their own.
 */
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import { type Problem, someOf } from '../../config/problem.ts';
import { KINDS, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { GIVEN_BY_MANAGE } from '../../rbac/cluster-roles.ts';
import { everywhere, operatorTenant } from '../../tenancy/places.ts';

/** @throws StatusError as `Objects` does */
export async function missingRoles(
  tenancy: TenancyConfiguration,
  objects: Objects,
  signal: AbortSignal,
): Promise<Problem[]> {
  const { hasTenantsInPaths } = tenancy.facts;
  const systemTenant = operatorTenant(tenancy);
  const pathOf = ({ metadata: { tenant = '', name } }: StoredObject) => `${tenant}/${name}`;
  const made = new Set(await objects.list(KINDS.ClusterRole, everywhere(tenancy.facts), '', signal, pathOf));
  const tenants = hasTenantsInPaths
    ? await objects.list(KINDS.Tenant, {}, '', signal, ({ metadata }) => metadata.name)
    : [''];
  return GIVEN_BY_MANAGE.flatMap((role) => {
    const lacking = tenants.filter((tenant) => tenant !== systemTenant && !made.has(`${tenant}/${role}`));
    if (lacking.length === 0) return [];
    const [place, who] = hasTenantsInPaths
      ? [` in ${someOf(lacking)}`, ' as an administrator of the tenant']
      : ['', ''];
    const message = `there is no ClusterRole ${role}${place}, so it cannot be granted: apply the output of \`stonegate manifests roles --config FILE\`${who}`;
    return [{ path: 'members', message }];
  });
}
