/**
 * The feature `cross-tenant`: who may enter other tenants, and what they may do there. See
 * docs/cross-tenant.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import type { Rule } from '../../config/problem.ts';
import type { WrittenRule } from '../../rbac/grantable-rules.ts';
import { defineFeature } from '../define-feature.ts';
import { leasePlace } from '../leased-controller.ts';
import { needsProvisioner, type Provisioning } from '../provisioning-credential.ts';
import { checkAbacFile } from './abac-file.ts';
import { administrationRules } from './administrations-configuration.ts';
import { type AuthorizationConfiguration, authorizationSchema } from './authorization-configuration.ts';
import { enabledPolicies, hasPolicies } from './enabled-policies.ts';
import * as METRICS from './metrics.ts';
import { POLICY_READ_RIGHTS, POLICY_WRITE_RIGHTS } from './rights.ts';
import { CROSS_TENANT_POLICIES, TENANT_ADMINISTRATIONS } from './tenancy-v1alpha1.ts';

interface CrossTenantReads extends Pick<CoreConfiguration, 'tenancy' | 'upstream'>, Provisioning {
  readonly authorization: AuthorizationConfiguration;
  readonly access: { readonly grantable: readonly WrittenRule[] };
}

export const crossTenant = defineFeature({
  name: 'cross-tenant',
  sections: {
    authorization: authorizationSchema
      .prefault({})
      .describe('Who may enter other tenants, and what clients see of refusals.'),
  },
  rules: (configuration: CrossTenantReads) => [
    ...policyRules(configuration),
    ...administrationRules(configuration),
  ],
  checkFiles: (configuration: CrossTenantReads, content) => checkAbacFile(configuration, content),
  rights: POLICY_READ_RIGHTS,
  provisionerRights: POLICY_WRITE_RIGHTS,
  storedKinds: [
    {
      definition: CROSS_TENANT_POLICIES,
      modes: ['hasTenantsInPaths'],
      section: 'authorization',
      when: ['authorization.crossTenantPolicies'],
      consequence: 'none grants anything',
    },
    {
      definition: TENANT_ADMINISTRATIONS,
      modes: ['hasTenantsInPaths'],
      section: 'authorization',
      when: ['authorization.tenantAdministrations'],
      consequence: 'none grants anything',
    },
  ],
  findIneffective: async (configuration: CrossTenantReads, fetcher, signal) =>
    enabledPolicies(configuration).crossTenantPolicies
      ? (await import('./policy-checks.ts')).uncheckedPolicies(fetcher, signal)
      : [],
  metrics: Object.values(METRICS),
  controllers: ['policies'],
  reads(configuration: CrossTenantReads, { file }) {
    const { access, authorization, tenancy, upstream } = configuration;
    const enabled = enabledPolicies(configuration);
    const { systemTenant } = tenancy;
    const { grantable } = access;
    const { abacPolicyFile } = authorization;
    const abacFile = abacPolicyFile === undefined ? undefined : file(abacPolicyFile).toString('latin1');
    const forms = {
      abac: enabled.abac,
      administration: enabled.administrations || enabled.tenantAdministrations,
      tenant: enabled.crossTenantPolicies,
    };
    return {
      sources: hasPolicies(enabled) ? { server: upstream.server, systemTenant, enabled } : undefined,
      policies: { abacFile, authorization, access: { grantable }, tenancy },
      controller: tenancy.facts.hasTenantsInPaths
        ? { systemTenant, grantable, forms, leases: leasePlace(tenancy) }
        : undefined,
    };
  },
});

export type CrossTenantParts = ReturnType<typeof crossTenant.reads>;
export type { PolicyProblemOf } from './cross-tenant-policies.ts';

/** Policies are of one mode only, and their roles need the provisioning credential. */
function policyRules({ authorization, bindings, tenancy }: CrossTenantReads): Rule[] {
  const mayEnterTenants = tenancy.facts.hasTenantsInPaths;
  const policies = Object.entries({
    abacPolicyFile: authorization.abacPolicyFile !== undefined,
    crossTenantPolicies: authorization.crossTenantPolicies,
    tenantAdministrations: authorization.tenantAdministrations,
    administrations: authorization.administrations.length > 0,
  }).flatMap(([name, isUsed]) => (isUsed ? [`authorization.${name}`] : []));
  return [
    ...policies.map(
      (path): Rule => [
        path,
        !mayEnterTenants,
        'has no effect in shared mode, in which a RoleBinding lets users of another tenant in',
      ],
    ),
    needsProvisioner({ bindings }, mayEnterTenants && policies[0], 'write the roles of guests'),
  ];
}
