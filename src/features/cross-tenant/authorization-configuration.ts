/**
 * The section `authorization`: who may enter other tenants, and what the API server's 403 becomes.
 */
import { z } from 'zod';
import { label, type Output, toggle, unique } from '../../lib/schema-fields.ts';
import { file } from '../../lib/schema-files.ts';
import { tenantAdministrationSpecSchema } from './tenancy-v1alpha1.ts';

const administration = z.strictObject({
  name: label({ missing: 'a name for the audit log and the roles' }).describe('A unique name.'),
  ...tenantAdministrationSpecSchema.shape,
});

export const authorizationSchema = z.strictObject({
  hideForbidden: toggle(
    "Whether the API server's 403 for a named object becomes a 404 if the user may not `get` that object either. It needs `access.authorizers: [Node, RBAC]`.",
  ),
  abacPolicyFile: file('abac-policies')
    .exactOptional()
    .describe(
      'Cross-tenant policies of the operator, one `abac.authorization.kubernetes.io/v1beta1` Policy a line. In arktos mode only.',
    ),
  crossTenantPolicies: toggle(
    'Whether CrossTenantPolicy objects, which administrators of tenants write, let users of other tenants in. In arktos mode only.',
  ),
  tenantAdministrations: toggle(
    'Whether TenantAdministration objects of the system tenant apply. In arktos mode only.',
  ),
  administrations: z
    .array(administration)
    .superRefine(unique('each name once', ({ name }) => name, 'name'))
    .default([])
    .describe('Administrations of sets of tenants, in addition to the objects. In arktos mode only.'),
  administrationsMustEnd: toggle('Whether an administration without `notAfter` is refused.'),
});

export type AdministrationConfiguration = Output<typeof administration>;
export type AuthorizationConfiguration = Output<typeof authorizationSchema>;
