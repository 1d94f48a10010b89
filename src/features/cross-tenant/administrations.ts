/**
 * Administrations of sets of tenants: groups of one tenant get a cluster role in each tenant of the set. The
 * set follows from names, from the labels of Tenant objects, which no tenant can write, and from Keystone
 * domains.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { isEnterable } from '../../kubernetes/reserved-names.ts';
import { ownValue } from '../../lib/json-object.ts';
import { firstProblem } from '../../lib/parse-json.ts';
import { isPrintable } from '../../lib/untrusted-text.ts';
import { CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import { withoutEscalation } from '../../rbac/grantable-rules.ts';
import { checkLength, invalid } from '../../rbac/invalid-policy.ts';
import type { AdministrationConfiguration } from './authorization-configuration.ts';
import type { Policy, TenantFacts } from './policy.ts';
import { checkEnd, checkGroup, checkName, endOf } from './policy-fields.ts';
import {
  type TenantAdministration,
  type TenantSelection,
  tenantAdministrationSpecSchema,
} from './tenancy-v1alpha1.ts';

const EVERY = '*';
const OWN_ROLES = 'stonegate:';

export interface AdministrationRules {
  readonly systemTenant: string;
  /** @returns undefined if no tenant belongs to the Keystone domain */
  readonly tenantOfDomain: (domain: string) => string | undefined;
  readonly tenants: readonly TenantFacts[];
  /** The system tenant's. */
  readonly clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly checkRules: (rules: readonly PolicyRule[], field: string) => void;
  readonly mustEnd: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The object in the terms of the configuration.
 *
 * @throws InvalidPolicy
 */
export function administrationOf({ metadata, spec }: TenantAdministration): AdministrationConfiguration {
  const problem = firstProblem(tenantAdministrationSpecSchema, spec, 'spec');
  if (problem !== undefined) throw invalid(problem);
  const { notAfter: end, ...rest } = spec;
  const notAfter = endOf(end, 'spec.notAfter');
  return { name: metadata.name, ...rest, ...(notAfter !== undefined && { notAfter }) };
}

/**
 * @param source where it is written
 * @throws InvalidPolicy if it grants nothing
 */
export function administrationPolicy(
  administration: AdministrationConfiguration,
  source: string,
  rules: AdministrationRules,
): Policy {
  const { name, groups, domain, tenants, clusterRole, notAfter, reason } = administration;
  checkName(name);
  checkLength(groups, 'spec.groups');
  for (const [at, group] of groups.entries()) checkGroup(group, `spec.groups[${at}]`);
  if (!isPrintable(reason)) throw invalid('spec.reason is empty or cannot be printed');
  if (rules.mustEnd && notAfter === undefined)
    throw invalid('spec.notAfter is required here (authorization.administrationsMustEnd)');
  const home = domain === undefined ? rules.systemTenant : rules.tenantOfDomain(domain);
  if (home === undefined) throw invalid('spec.domain is no Keystone domain that has a tenant');
  const selected = selectedTenants(tenants, home, rules);
  const granted = rulesOf(clusterRole, rules);
  checkEnd(notAfter, rules.now);
  return {
    form: 'administration',
    name,
    source,
    subjects: groups.map((group) => ({ tenant: home, group })),
    tenants: selected,
    namespaces: 'all',
    rules: granted,
    ...(notAfter !== undefined && { notAfter }),
    reason,
  };
}

/** Excludes the system tenant and the administrators' own, in which they are no guests. */
function selectedTenants(
  { names, matchLabels, domains }: TenantSelection,
  home: string,
  { systemTenant, tenantOfDomain, tenants }: AdministrationRules,
): ReadonlySet<string> {
  if (names === undefined && matchLabels === undefined && domains === undefined)
    throw invalid('spec.tenants selects nothing: it needs names, matchLabels or domains');
  if (names !== undefined) checkTenantNames(names, systemTenant, home);
  if (domains !== undefined) checkLength(domains, 'spec.tenants.domains');
  const labels = Object.entries(matchLabels ?? {});
  if (matchLabels !== undefined) checkLength(labels, 'spec.tenants.matchLabels');
  const byName = names?.includes(EVERY) ? undefined : names && new Set(names);
  const byDomain = domains && new Set(domains.map(tenantOfDomain));
  const selected = tenants.filter(
    (tenant) =>
      isEnterable(tenant.name, systemTenant) &&
      tenant.name !== home &&
      byName?.has(tenant.name) !== false &&
      byDomain?.has(tenant.name) !== false &&
      labels.every(([key, value]) => ownValue(tenant.labels, key) === value),
  );
  return new Set(selected.map(({ name }) => name));
}

function checkTenantNames(names: readonly string[], systemTenant: string, home: string): void {
  const field = 'spec.tenants.names';
  checkLength(names, field);
  if (names.includes(EVERY)) {
    if (names.length > 1) throw invalid(`${field} has other names beside *`);
    return;
  }
  names.forEach((name, at) => {
    if (!isEnterable(name, systemTenant)) throw invalid(`${field}[${at}] is no tenant that users may enter`);
    if (name === home) throw invalid(`${field}[${at}] is the tenant of the groups, who are no guests there`);
  });
}

function rulesOf(
  clusterRole: string,
  { clusterRoles, checkRules }: AdministrationRules,
): readonly PolicyRule[] {
  const own = CLUSTER_ROLES.get(clusterRole);
  if (own !== undefined) {
    const rules = withoutEscalation(own);
    if (rules.length === 0) throw invalid(`spec.clusterRole ${clusterRole} grants nothing to guests`);
    return rules;
  }
  if (clusterRole.startsWith(OWN_ROLES))
    throw invalid(
      `spec.clusterRole is none of ${[...CLUSTER_ROLES.keys()].join(', ')}, nor a role of your own`,
    );
  const rules = clusterRoles.get(clusterRole);
  if (rules === undefined) throw invalid('spec.clusterRole is no ClusterRole of the system tenant');
  checkRules(rules, `rules of the ClusterRole ${clusterRole}: rules`);
  return rules;
}
