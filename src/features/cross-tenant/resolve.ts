/**
 * Resolves the three forms of policies to `Policy`: the operator's file, the administrations of the
 * configuration, and the objects of the API server. Pure. What is invalid grants nothing, and its status says
 * why.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { POLICY_FORMS } from '../../proxy/tenant-entry.ts';
import { createRulesCheck } from '../../rbac/granted-rules.ts';
import { InvalidPolicy, invalid, type PolicyReason } from '../../rbac/invalid-policy.ts';
import { type AdministrationSettings, administrationOf, administrationPolicy } from './administrations.ts';
import type { AdministrationConfiguration } from './authorization-configuration.ts';
import {
  createCrossTenantPolicies,
  MAX_NAMESPACES_PER_TENANT,
  MAX_POLICIES_PER_TENANT,
} from './cross-tenant-policies.ts';
import type { Policy, PolicyFacts } from './policy.ts';
import type { CrossTenantPolicy, TenantAdministration } from './tenancy-v1alpha1.ts';

/** The policies from all places where they are written. */
export interface WrittenPolicies {
  /** The policies of the operator's file. */
  readonly abac: readonly Policy[];
  /** The administrations of the configuration. */
  readonly administrations: readonly AdministrationConfiguration[];
  /** Empty where nothing is current, or the configuration does not enable it. */
  readonly facts: PolicyFacts;
}

export interface PolicySettings extends AdministrationSettings {
  /** `access.grantable`. */
  readonly grantable: readonly PolicyRule[];
}

export interface PolicyStatus {
  readonly name: string;
  /** The object that the status is about; undefined for an entry of `authorization.administrations`. */
  readonly object?: CrossTenantPolicy | TenantAdministration;
  /** Whether it is in force. */
  readonly ready: boolean;
  readonly reason: PolicyReason;
  readonly message: string;
}

export interface ResolvedPolicies {
  /** The policies in force, by form, name and tenant. */
  readonly policies: readonly Policy[];
  /** The status of each object and each administration of the configuration, in force or not. */
  readonly statuses: readonly PolicyStatus[];
  /** When the next of them ends, in milliseconds since the epoch; undefined if none does. */
  readonly nextEnd: number | undefined;
}

/**
 * @returns resolves the policies at an instant, in milliseconds since the epoch. Rules that it has checked
 *   are not checked again while their list is the same object.
 */
export function createPolicyResolver(
  settings: PolicySettings,
): (written: WrittenPolicies, now: number) => ResolvedPolicies {
  const checkRules = createRulesCheck(settings.grantable);
  const crossTenantPolicy = createCrossTenantPolicies({ ...settings, checkRules });
  return ({ abac, administrations, facts }, now) => {
    const checks = { ...settings, checkRules, crossTenantPolicy, now };
    const results = [
      ...resolveAdministrations(administrations, facts, checks),
      ...resolveCrossTenantPolicies(facts, checks),
    ];
    const found = results.flatMap(({ policy }) => (policy === undefined ? [] : [policy]));
    const policies = [...abac, ...found].sort(inOrder);
    const ends = policies.flatMap(({ notAfter }) => (notAfter === undefined ? [] : [notAfter]));
    return {
      policies,
      statuses: results.map(({ status }) => status),
      nextEnd: ends.length === 0 ? undefined : Math.min(...ends),
    };
  };
}

interface Checks extends PolicySettings {
  readonly checkRules: ReturnType<typeof createRulesCheck>;
  readonly crossTenantPolicy: ReturnType<typeof createCrossTenantPolicies>;
  readonly now: number;
}

interface Resolved {
  readonly policy?: Policy;
  readonly status: PolicyStatus;
}

/** A name is that of the configuration's entry, in force or not: two would share one role. */
function resolveAdministrations(
  configured: readonly AdministrationConfiguration[],
  facts: PolicyFacts,
  checks: Checks,
): Resolved[] {
  const { tenants, clusterRoles } = facts;
  const rules = { ...checks, tenants, clusterRoles };
  const taken = new Set<string>();
  const take = (name: string) => {
    if (taken.has(name)) throw invalid('another administration has this name');
    taken.add(name);
  };
  const ofConfiguration = configured.map((administration, at) =>
    resolved({ name: administration.name }, () => {
      take(administration.name);
      return administrationPolicy(administration, `authorization.administrations[${at}]`, rules);
    }),
  );
  const objects = facts.administrations.filter(
    ({ metadata: { tenant = checks.systemTenant, deletionTimestamp } }) =>
      tenant === checks.systemTenant && deletionTimestamp === undefined,
  );
  const ofObjects = objects.map((object) => {
    const { name } = object.metadata;
    return resolved({ name, object }, () => {
      take(name);
      return administrationPolicy(administrationOf(object), `tenantadministrations/${name}`, rules);
    });
  });
  return [...ofConfiguration, ...ofObjects];
}

function resolveCrossTenantPolicies(
  { crossTenantPolicies, webhook }: PolicyFacts,
  { crossTenantPolicy, now }: Checks,
): Resolved[] {
  const policies = new Map<string, number>();
  const namespaces = new Map<string, number>();
  return crossTenantPolicies
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((one, other) => compare(one.metadata.name, other.metadata.name))
    .map((object) => {
      const { name, tenant = '' } = object.metadata;
      return resolved({ name, object }, () => {
        if (counted(policies, tenant, 1) > MAX_POLICIES_PER_TENANT)
          throw invalid(`the tenant has more than ${MAX_POLICIES_PER_TENANT} policies`);
        const policy = crossTenantPolicy(object, { webhook, now });
        const named = policy.namespaces === 'all' ? 0 : policy.namespaces.size;
        if (counted(namespaces, tenant, named) > MAX_NAMESPACES_PER_TENANT)
          throw invalid(`the tenant's policies name more than ${MAX_NAMESPACES_PER_TENANT} namespaces`);
        return policy;
      });
    });
}

/** @returns the count of the tenant, with what is added */
function counted(counts: Map<string, number>, tenant: string, more: number): number {
  const count = (counts.get(tenant) ?? 0) + more;
  counts.set(tenant, count);
  return count;
}

function resolved(about: Pick<PolicyStatus, 'name' | 'object'>, policyOf: () => Policy): Resolved {
  try {
    const policy = policyOf();
    return { policy, status: { ...about, ready: true, reason: 'Ready', message: readyMessage(policy) } };
  } catch (error) {
    if (!(error instanceof InvalidPolicy)) throw error;
    return { status: { ...about, ready: false, reason: error.reason, message: error.message } };
  }
}

function readyMessage({ form, tenants }: Policy): string {
  if (form === 'tenant') return 'in force';
  return `in force in ${tenants.size} ${tenants.size === 1 ? 'tenant' : 'tenants'}`;
}

function inOrder(one: Policy, other: Policy): number {
  return (
    POLICY_FORMS.indexOf(one.form) - POLICY_FORMS.indexOf(other.form) ||
    compare(one.name, other.name) ||
    compare(one.source, other.source)
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
