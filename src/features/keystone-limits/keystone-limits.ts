/**
 * What Keystone's limits allow in the cluster: the `hard` of a tenant's TenantQuota and of the ResourceQuota
 * in a project's namespace. Pure. As in oslo.limit, nothing may be used of a resource without a registered
 * limit.
 * https://docs.openstack.org/keystone/latest/admin/unified-limits.html#enforcement-models
 */
import {
  type KeystoneLimits,
  type ResourceLimits,
  UNLIMITED,
} from '../../identity/keystone/keystone-limits.ts';
import { formatOf, formatQuantity, parseQuantity } from '../../kubernetes/quantity.ts';
import type { Refusal } from '../../kubernetes/reconcile/plan.ts';
import type { KeystoneLimitsConfiguration } from './keystone-limits-configuration.ts';

/** Quantities by the names of ResourceQuota. A resource that is not in it is unlimited. */
export type Hard = Readonly<Record<string, string>>;

interface Owner {
  readonly id: string;
}

export interface QuotaOfLimits {
  /** The quota of a project's namespace, which also bounds its roles and role bindings. */
  readonly ofProject: (project: Owner) => Hard;
  /** @param projects all projects of the domain; empty if every resource is unlimited */
  readonly ofDomain: (domain: Owner, projects: readonly Owner[]) => Hard;
  /** The resources that have no registered limit, if that is an error. */
  readonly refusals: readonly Refusal[];
}

export function quotaOfLimits(
  limits: KeystoneLimits,
  { service, resources, unregistered, roles, roleBindings }: KeystoneLimitsConfiguration,
): QuotaOfLimits {
  const withoutLimit = unregistered === 'unlimited' ? UNLIMITED : 0;
  const limitIn = (own: ResourceLimits | undefined, name: string) =>
    own?.get(name) ?? limits.registered.get(name) ?? withoutLimit;
  const limitOfProject = ({ id }: Owner, name: string) => limitIn(limits.ofProjects.get(id), name);

  function limitOfDomain({ id }: Owner, projects: readonly Owner[], name: string): number {
    const own = limits.ofDomains.get(id);
    const limit = limitIn(own, name);
    if (limits.model === 'strict_two_level' || own?.has(name) === true) return limit;
    // In the flat model each project may use its whole limit, whatever the others use.
    const ofProjects = projects.map((project) => limitOfProject(project, name));
    if ([limit, ...ofProjects].includes(UNLIMITED)) return UNLIMITED;
    return Math.max(
      limit,
      ofProjects.reduce((sum, one) => sum + one, 0),
    );
  }

  function hard(limitOf: (name: string) => number): Hard {
    return Object.fromEntries(
      Object.entries(resources).flatMap(([resource, { name, unit }]) => {
        const limit = limitOf(name);
        return limit === UNLIMITED ? [] : [[resource, quantity(limit, unit)]];
      }),
    );
  }

  return {
    ofProject: (project) => ({
      'count/roles.rbac.authorization.k8s.io': quantity(roles),
      'count/rolebindings.rbac.authorization.k8s.io': quantity(roleBindings),
      ...hard((name) => limitOfProject(project, name)),
    }),
    ofDomain: (domain, projects) => hard((name) => limitOfDomain(domain, projects, name)),
    refusals: Object.entries(resources)
      .filter(([, { name }]) => unregistered === 'error' && !limits.registered.has(name))
      .map(([resource, { name }]) => ({
        subject: `quota.keystoneLimits.resources["${resource}"]`,
        reason: `no registered limit ${JSON.stringify(name)} of the service ${service} in Keystone: nothing of it may be used`,
      })),
  };
}

/** In the canonical form, as the API server writes it: 1024 Mi are `1Gi`. */
function quantity(limit: number, unit = ''): string {
  const text = `${limit}${unit}`;
  return formatQuantity(parseQuantity(text) ?? 0n, formatOf(text));
}

export interface TenantHards {
  /** Maps the name of a tenant to its quota; a tenant that belongs to no domain is not in it. */
  readonly hards: ReadonlyMap<string, Hard>;
  readonly refusals: readonly Refusal[];
}

export interface KeystoneQuota {
  /** @throws StatusError KeystoneUnavailable if the limits were never read and cannot be read now */
  ofProjects(): Promise<QuotaOfLimits>;
  /** As last read, without waiting for Keystone; undefined if it was not read yet. */
  ofTenants(): TenantHards | undefined;
  close(): void;
}
