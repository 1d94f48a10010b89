/**
 * The rights of `stonegate manifests rbac` with what they depend on, for the chart's templates, which cannot
 * run Stonegate. Names that come from a configuration are placeholders.
 */

import { OWN_EXTRA_KEYS, RIGHTS } from '../src/app/commands/rbac-manifests.ts';
import { DEFAULT_ROLES } from '../src/features/bindings/bindings-configuration.ts';
import { type ProvisioningNeeds, provisioningRules } from '../src/features/bindings/rights.ts';
import { policyWriteRules } from '../src/features/cross-tenant/rights.ts';
import { membersRules } from '../src/features/members/rights.ts';
import { PUBLISHED_VERBS, type PublishingNeeds, publishingRules } from '../src/features/publishing/rights.ts';
import { quotaRules } from '../src/features/quota/rights.ts';
import { tokenRules } from '../src/features/tokens/rights.ts';
import type { PolicyRule } from '../src/kubernetes/kubernetes-object.ts';
import {
  TENANT_KINDS,
  UNPUBLISHED_GROUPS,
  UNPUBLISHED_RESOURCES,
} from '../src/kubernetes/published-objects.ts';
import { CREDENTIAL_ID_KEY } from '../src/kubernetes/reserved-names.ts';
import { withoutCovered } from '../src/kubernetes/right.ts';
import { BASIC_USER_ROLE, CLUSTER_ROLES } from '../src/rbac/cluster-roles.ts';
import { ESCALATING_VERBS } from '../src/rbac/escalating.ts';
import { NEVER_GROUPS } from '../src/rbac/grantable-rules.ts';
import { TENANCY_FACTS } from '../src/tenancy/facts.ts';

export const CHART_RBAC = 'config/charts/stonegate/files/rbac.json';

/** A name that the templates replace. */
const ROLE = 'placeholder';
const TARGETS = [{ clusterRole: ROLE }, { role: ROLE }];
const MODES = Object.entries(TENANCY_FACTS);
const NEEDS: ProvisioningNeeds = { facts: TENANCY_FACTS.arktos, createRoles: false, targets: TARGETS };
/** No kind is published. */
const NO_KINDS: PublishingNeeds = {
  configuration: { namespaces: [], clusterScoped: [], kinds: [], interval: 0 },
  grantable: [],
};

/** The text of the chart's file: rights by what they depend on, and the names that templates compare. */
export function chartRBAC(): string {
  const provisioning = provisioningRules(NEEDS);
  const published = { ...NO_KINDS.configuration, namespaces: ['placeholder'] };
  const content = {
    /** Of each tenancy mode: conditions of rights are among them. */
    facts: TENANCY_FACTS,
    impersonator: RIGHTS.map(({ when, rule }) => ({ when, rule })),
    extraKeys: { ...OWN_EXTRA_KEYS, jwt: [CREDENTIAL_ID_KEY] },
    provisioner: Object.fromEntries(
      MODES.flatMap(([mode, facts]) =>
        [true, false].map((createRoles) => [
          createRoles ? `${mode} createRoles` : mode,
          provisionerRules(provisioningRules({ facts, createRoles, targets: TARGETS })),
        ]),
      ),
    ),
    /** In addition, for policies of any form. */
    policyProvisioning: rulesBeyond(
      provisionerRules(provisioning),
      provisionerRules([...provisioning, ...policyWriteRules([])]),
    ),
    /** In addition, for the quotas of tenants, and of projects. */
    quota: quotaRules([]),
    quotaProvisioning: rulesBeyond(
      provisionerRules(provisioning),
      provisionerRules(provisioningRules({ ...NEEDS, projectQuotas: true })),
    ),
    /** In addition, for sections that need the same whatever they say. */
    sections: Object.fromEntries(
      MODES.map(([mode, facts]) => [mode, { members: membersRules(facts), tokens: tokenRules(facts) }]),
    ),
    publishing: Object.fromEntries(MODES.map(([mode, facts]) => [mode, publishingRules(facts, NO_KINDS)])),
    /** On the kinds that are published from every namespace of `publishing.namespaces`. */
    publishedKinds: rulesBeyond(
      publishingRules(TENANCY_FACTS.shared, NO_KINDS),
      publishingRules(TENANCY_FACTS.shared, { ...NO_KINDS, configuration: published }),
    ),
    tenantKinds: Object.fromEntries(TENANT_KINDS.map(({ resource, group }) => [resource, group])),
    publishedVerbs: PUBLISHED_VERBS,
    notPublished: { groups: [...UNPUBLISHED_GROUPS], resources: [...UNPUBLISHED_RESOURCES] },
    notGrantable: { groups: [...NEVER_GROUPS], verbs: [...ESCALATING_VERBS] },
    /** What Keystone roles are bound to if the operator says nothing. */
    defaultRoles: DEFAULT_ROLES,
    /** In shared mode the provisioner may bind the roles that it creates because it has their rules. */
    heldClusterRoles: [...CLUSTER_ROLES.keys()].filter((name) => name !== BASIC_USER_ROLE),
  };
  const lines = Object.entries(content).map(([key, value]) => `  "${key}": ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

function provisionerRules(rules: readonly PolicyRule[]): PolicyRule[] {
  return withoutCovered(rules.map((rule) => ({ rule }))).map(({ rule }) => rule);
}

function rulesBeyond(known: readonly PolicyRule[], rules: readonly PolicyRule[]): PolicyRule[] {
  const texts = new Set(known.map((rule) => JSON.stringify(rule)));
  return rules.filter((rule) => !texts.has(JSON.stringify(rule)));
}
