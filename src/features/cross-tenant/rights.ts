/**
 * The rights at the API server that cross-tenant policies and administrations need: to read what they follow
 * from, and, for the provisioner, to grant what they grant.
 */
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import { type ProvisionerRight, type Right, rule } from '../../kubernetes/right.ts';
import { type EnabledPolicies, resourcesOfPolicies } from './enabled-policies.ts';

/** The fields of the section `authorization` that turn the forms of policies on. */
const FIELDS = {
  abac: 'abacPolicyFile',
  administrations: 'administrations',
  tenantAdministrations: 'tenantAdministrations',
  crossTenantPolicies: 'crossTenantPolicies',
} as const;
const NONE: EnabledPolicies = {
  abac: false,
  administrations: false,
  tenantAdministrations: false,
  crossTenantPolicies: false,
};

export const POLICY_READ_RIGHTS: readonly Right[] = Object.entries(FIELDS).flatMap(([form, field]) =>
  resourcesOfPolicies({ ...NONE, [form]: true }).map(({ group, resource }, at) => ({
    when: ['hasTenantsInPaths', `authorization.${field}`],
    ...(at === 0 && { comment: 'Who may enter which tenants.' }),
    consequence: 'policies grant nothing, or get no roles',
    rule: rule(group, resource, 'list watch'),
  })),
);

export const POLICY_WRITE_RIGHTS: readonly ProvisionerRight[] = Object.values(FIELDS).flatMap((field) => {
  const when = ['hasTenantsInPaths', `authorization.${field}`];
  const verbs = 'get list create update delete';
  const status = 'crosstenantpolicies/status tenantadministrations/status';
  return [
    { when, rule: rule('rbac.authorization.k8s.io', 'clusterroles', verbs) },
    { when, rule: rule(TENANCY_GROUP, status, 'patch') },
    { when, grants: true },
  ];
});
