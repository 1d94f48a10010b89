/**
 * Resolves the namespaces and tenants of projects and domains against existing objects. A namespace belongs
 * to a project only by Stonegate's labels: one without them, with another project's, or claimed by two
 * projects is refused. A renamed project keeps its namespace.
 */
import type { StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import type { DesiredProject, DesiredState, DesiredTenant } from './desired-state.ts';
import { titleOf } from './grants.ts';
import { isManaged, isManagedFor } from './managed-object.ts';
import type { ClusterState } from './read-state.ts';

export interface ResolvedProject {
  readonly desired: DesiredProject;
  readonly namespace: string;
}

export interface ResolvedTenant {
  readonly desired: DesiredTenant;
  /**
   * Whether Stonegate created the tenant for this domain, or will: only then are roles bound in the whole
   * tenant.
   */
  readonly owned: boolean;
}

export interface ResolvedState {
  readonly tenants: readonly ResolvedTenant[];
  readonly projects: readonly ResolvedProject[];
  readonly refusals: readonly Refusal[];
}

type Refused = { readonly refused: string };

export function resolveNamespaces(state: DesiredState, cluster: ClusterState): ResolvedState {
  const refusals: Refusal[] = [];
  const tenants = resolveTenants(state.tenants, cluster.tenants, refusals);
  const usable = new Set(tenants.map(({ desired }) => desired.tenant));
  const namespaces = new Map(cluster.places.map(({ tenant, namespaces }) => [tenant, namespaces]));
  const found: ResolvedProject[] = [];
  for (const desired of state.projects) {
    if (desired.tenant !== undefined && !usable.has(desired.tenant)) continue;
    const result = resolveNamespace(desired, namespaces.get(desired.tenant) ?? []);
    if ('namespace' in result) found.push({ desired, namespace: result.namespace });
    else refusals.push({ subject: titleOf('project', desired.project), reason: result.refused });
  }
  return { tenants, projects: withoutCollisions(found, refusals), refusals };
}

function resolveTenants(
  desiredTenants: readonly DesiredTenant[],
  existing: readonly StoredObject[],
  refusals: Refusal[],
): ResolvedTenant[] {
  const byName = new Map(existing.map((tenant) => [tenant.metadata.name, tenant]));
  const claims = Map.groupBy(desiredTenants, ({ tenant }) => tenant);
  return desiredTenants.flatMap((desired): ResolvedTenant[] => {
    const { domain, tenant: name } = desired;
    const subject = titleOf('domain', domain);
    const tenant = byName.get(name);
    const owned = tenant === undefined || isManagedFor(tenant, { domainID: domain.id });
    const problem = tenantProblem(tenant, owned, claims.get(name)?.length ?? 0);
    if (problem !== undefined) {
      refusals.push({ subject, reason: `its tenant ${name} ${problem}` });
      return [];
    }
    if (!owned && desired.bindings.length > 0)
      refusals.push({
        subject,
        reason: `its tenant ${name} was not created by Stonegate for it, so its roles on the domain are not bound there: label it stonegate.dev/managed-by=stonegate and stonegate.dev/domain-id=${domain.id}`,
      });
    return [{ desired, owned }];
  });
}

function tenantProblem(tenant: StoredObject | undefined, owned: boolean, claims: number): string | undefined {
  if (claims > 1) return 'is wanted by another domain too';
  if (tenant === undefined) return undefined;
  if (tenant.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  return isManaged(tenant) && !owned ? 'was created for another domain' : undefined;
}

function resolveNamespace(
  { project, wanted }: DesiredProject,
  namespaces: readonly StoredObject[],
): { namespace: string } | Refused {
  const own = namespaces.filter((namespace) => isManagedFor(namespace, { projectID: project.id }));
  const current = 'namespace' in wanted && wanted.configured ? undefined : currentNamespace(own, wanted);
  if (current !== undefined) return current;
  if ('refused' in wanted) return wanted;
  const { namespace: name } = wanted;
  const existing = namespaces.find(({ metadata }) => metadata.name === name);
  if (existing === undefined) return { namespace: name };
  if (!own.includes(existing))
    return {
      refused: `its namespace ${name} is there, but Stonegate did not create it for this project: set another one in bindings.projects, or hand this one over as docs/bindings.md says`,
    };
  return usableNamespace(existing);
}

/** The namespace that the project already has, unless the operator has configured one. */
function currentNamespace(
  own: readonly StoredObject[],
  wanted: DesiredProject['wanted'],
): { namespace: string } | Refused | undefined {
  const [first, ...others] = own;
  if (first === undefined) return undefined;
  const named = own.find(({ metadata }) => 'namespace' in wanted && metadata.name === wanted.namespace);
  if (named !== undefined) return usableNamespace(named);
  if (others.length > 0) return { refused: 'several namespaces say that they are its own' };
  return usableNamespace(first);
}

function usableNamespace({ metadata }: StoredObject): { namespace: string } | Refused {
  return metadata.deletionTimestamp === undefined
    ? { namespace: metadata.name }
    : { refused: `its namespace ${metadata.name} is being deleted` };
}

function withoutCollisions(found: readonly ResolvedProject[], refusals: Refusal[]): ResolvedProject[] {
  const keyOf = ({ desired, namespace }: ResolvedProject) => `${desired.tenant ?? ''}/${namespace}`;
  const claims = Map.groupBy(found, keyOf);
  return found.filter((resolved) => {
    if ((claims.get(keyOf(resolved))?.length ?? 0) === 1) return true;
    refusals.push({
      subject: titleOf('project', resolved.desired.project),
      reason: `its namespace would be ${resolved.namespace}, which another project wants too: set another one in bindings.projects`,
    });
    return false;
  });
}
