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

/** The settings of administrations. */
export interface AdministrationSettings {
  readonly systemTenant: string;
  /** @returns undefined if no tenant belongs to the Keystone domain */
  readonly tenantOfDomain: (domain: string) => string | undefined;
  readonly administrationsMustEnd: boolean;
}

export interface AdministrationRules extends AdministrationSettings {
  readonly tenants: readonly TenantFacts[];
  /** The system tenant's. */
  readonly clusterRoles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly checkRules: (rules: readonly PolicyRule[], field: string) => void;
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
  return { name: metadata.name, ...spec };
}

/**
 * Checks what does not depend on objects of the API server.
 *
 * @returns the tenant of the groups
 * @throws InvalidPolicy
 */
export function checkAdministration(
  { name, groups, domain, tenants, clusterRole, notAfter, reason }: AdministrationConfiguration,
  { systemTenant, tenantOfDomain, administrationsMustEnd }: AdministrationSettings,
): string {
  checkName(name);
  checkLength(groups, 'spec.groups');
  for (const [at, group] of groups.entries()) checkGroup(group, `spec.groups[${at}]`);
  for (const [field, text] of Object.entries({ reason, clusterRole }))
    if (!isPrintable(text)) throw invalid(`spec.${field} is empty or cannot be printed`);
  endOf(notAfter, 'spec.notAfter');
  if (administrationsMustEnd && notAfter === undefined)
    throw invalid('spec.notAfter is required here (authorization.administrationsMustEnd)');
  const home = domain === undefined ? systemTenant : tenantOfDomain(domain);
  if (home === undefined) throw invalid('spec.domain is no Keystone domain that has a tenant');
  checkSelection(tenants, home, systemTenant);
  if (clusterRole.startsWith(OWN_ROLES)) ownRules(clusterRole);
  return home;
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
  const { name, groups, tenants, clusterRole, reason } = administration;
  const home = checkAdministration(administration, rules);
  const selected = selectedTenants(tenants, home, rules);
  const granted = rulesOf(clusterRole, rules);
  const notAfter = endOf(administration.notAfter, 'spec.notAfter');
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

function checkSelection(
  { names, matchLabels, domains }: TenantSelection,
  home: string,
  systemTenant: string,
): void {
  if (names === undefined && matchLabels === undefined && domains === undefined)
    throw invalid('spec.tenants selects nothing: it needs names, matchLabels or domains');
  if (names !== undefined) checkTenantNames(names, systemTenant, home);
  if (domains !== undefined) checkLength(domains, 'spec.tenants.domains');
  if (matchLabels !== undefined) checkLength(Object.keys(matchLabels), 'spec.tenants.matchLabels');
}

/** Never the system tenant, and not the administrators' own, in which they are no guests. */
function selectedTenants(
  { names, matchLabels, domains }: TenantSelection,
  home: string,
  { systemTenant, tenantOfDomain, tenants }: AdministrationRules,
): ReadonlySet<string> {
  const labels = Object.entries(matchLabels ?? {});
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
    if (names.length > 1) throw invalid(`${field} has other names besides *`);
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
  if (clusterRole.startsWith(OWN_ROLES)) return ownRules(clusterRole);
  const rules = clusterRoles.get(clusterRole);
  if (rules === undefined) throw invalid('spec.clusterRole is no ClusterRole of the system tenant');
  checkRules(rules, `rules of the ClusterRole ${clusterRole}: rules`);
  return rules;
}

function ownRules(clusterRole: string): readonly PolicyRule[] {
  const own = CLUSTER_ROLES.get(clusterRole);
  if (own === undefined)
    throw invalid(
      `spec.clusterRole is none of ${[...CLUSTER_ROLES.keys()].join(', ')}, nor a role of your own`,
    );
  const rules = withoutEscalation(own);
  if (rules.length === 0) throw invalid(`spec.clusterRole ${clusterRole} grants nothing to guests`);
  return rules;
}
