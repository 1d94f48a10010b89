/**
 * Computes what the cluster should contain, from Keystone and the configuration. Pure; `resolved-state.ts`
 * then resolves names against existing objects. A role on a domain is bound in its tenant, or, without
 * tenants, in the namespaces of its projects; it never applies to the whole cluster.
 */

import type { KeystoneDomain, KeystoneProject } from '../../identity/keystone/keystone-directory.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import { ownValue } from '../../lib/json-object.ts';
import { isSafeID } from '../../tenancy/keystone-groups.ts';
import type { DomainReference } from '../../tenancy/keystone-v3.ts';
import type { BindingsConfiguration } from './bindings-configuration.ts';
import {
  bindingOf,
  createGrants,
  type DesiredBinding,
  type Grant,
  type GrantPlace,
  type Holders,
  titleOf,
  type UserNaming,
} from './grants.ts';
import { type NamespaceName, namespaceOf } from './namespace-name.ts';

export interface KeystoneState {
  readonly domains: readonly KeystoneDomain[];
  readonly projects: readonly KeystoneProject[];
  readonly holders: Holders;
}

/** What the tenancy mode decides. */
export interface ProvisioningTenancy {
  readonly hasTenantsInPaths: boolean;
  /** Whether a namespace is labelled with its tenant, which quotas need. */
  readonly labelsNamespaces: boolean;
  readonly tenantOf: (domain: DomainReference) => { readonly tenant: string } | { readonly refused: string };
  readonly userNameOf: UserNaming;
}

export interface DesiredTenant {
  readonly tenant: string;
  readonly domain: KeystoneDomain;
  /** Roles on the domain, bound in the whole tenant. */
  readonly bindings: readonly DesiredBinding[];
}

export interface DesiredProject {
  readonly project: KeystoneProject;
  /** Absent if the API server has no tenants. */
  readonly tenant?: string;
  /** The tenant that the namespace is labelled with; absent if it needs no label. */
  readonly tenantLabel?: string;
  readonly wanted: NamespaceName;
  /** RoleBindings that still lack their namespace. */
  readonly bindings: readonly DesiredBinding[];
}

export interface DesiredState {
  readonly tenants: readonly DesiredTenant[];
  readonly projects: readonly DesiredProject[];
  readonly refusals: readonly Refusal[];
  /** Ignored projects and domains: nothing is created and nothing is removed for them. */
  readonly untouched: { readonly projectIDs: ReadonlySet<string>; readonly domainIDs: ReadonlySet<string> };
}

/** A provisioned domain and its grants. */
interface Home {
  readonly domain: KeystoneDomain;
  readonly tenant: string;
  readonly inTenant: readonly DesiredBinding[];
  readonly inNamespaces: readonly Grant[];
}

export function computeDesiredState(
  state: KeystoneState,
  rules: BindingsConfiguration,
  tenancy: ProvisioningTenancy,
): DesiredState {
  const grantsIn = createGrants(state.holders, rules, tenancy.userNameOf);
  const refusals: Refusal[] = [];
  const untouched = { projectIDs: new Set<string>(), domainIDs: new Set<string>() };
  const homes = new Map<string, Home>();
  const projects: DesiredProject[] = [];

  function granted(place: GrantPlace): readonly Grant[] {
    const found = grantsIn(place);
    refusals.push(...found.refusals);
    return found.grants;
  }

  function takeDomain(domain: KeystoneDomain): void {
    const place = isSafeID(domain.id) ? tenancy.tenantOf(domain) : { refused: NO_ID };
    const isIgnored = ownValue(rules.domains, domain.id)?.ignore === true;
    if ('refused' in place && !isIgnored)
      refusals.push({ subject: titleOf('domain', domain), reason: place.refused });
    if ('refused' in place || isIgnored) {
      untouched.domainIDs.add(domain.id);
      return;
    }
    if (!domain.enabled) return;
    const grants = granted({ kind: 'domain', domain });
    const inTenant = ({ target }: Grant) => tenancy.hasTenantsInPaths && 'clusterRole' in target;
    homes.set(domain.id, {
      domain,
      tenant: place.tenant,
      inTenant: grants.filter(inTenant).map((grant) => bindingOf('ClusterRoleBinding', grant)),
      inNamespaces: grants.filter((grant) => !inTenant(grant)),
    });
  }

  function takeProject(project: KeystoneProject): void {
    const { id, name, domainID } = project;
    if (ownValue(rules.projects, id)?.ignore === true || rules.ignore.projectNames.includes(name)) {
      untouched.projectIDs.add(id);
      return;
    }
    const home = homes.get(domainID);
    if (!project.enabled || home === undefined) return;
    if (!isSafeID(id)) {
      refusals.push({ subject: titleOf('project', project), reason: NO_ID });
      return;
    }
    const { domain, tenant, inNamespaces } = home;
    const grants = [...granted({ kind: 'project', project: { id, name, domain } }), ...inNamespaces];
    projects.push({
      project,
      ...(tenancy.hasTenantsInPaths && { tenant }),
      ...(tenancy.labelsNamespaces && { tenantLabel: tenant }),
      wanted: namespaceOf(project, rules),
      bindings: grants.map((grant) => bindingOf('RoleBinding', grant, project)),
    });
  }

  for (const domain of state.domains) takeDomain(domain);
  for (const project of state.projects) takeProject(project);
  const tenants = tenancy.hasTenantsInPaths
    ? [...homes.values()].map(({ tenant, domain, inTenant }) => ({ tenant, domain, bindings: inTenant }))
    : [];
  return { tenants, projects, refusals, untouched };
}

const NO_ID = 'its id can be part of no group: expected letters, digits and "_", "-", "."';
