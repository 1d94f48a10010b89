/**
 * The section `authorization`: who may enter other tenants, and what the API server's 403 becomes.
 */
import { z } from 'zod';
import { reservedGroupPrefix } from '../../kubernetes/reserved-names.ts';
import {
  checked,
  instant,
  label,
  type Output,
  sentence,
  text,
  toggle,
  unique,
} from '../../lib/schema-fields.ts';
import { file } from '../../lib/schema-files.ts';
import { CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';
import { withoutEscalation } from '../../rbac/grantable-rules.ts';

const tenantSelection = z
  .strictObject({
    names: z
      .array(text)
      .min(1)
      .refine(
        (names) => names.length === 1 || !names.includes('*'),
        sentence('expected `*` alone, since it is every tenant'),
      )
      .exactOptional()
      .describe("Names of tenants; `['*']` is every tenant."),
    matchLabels: z
      .record(text, z.string())
      .refine((labels) => Object.keys(labels).length > 0, { error: 'at least one label' })
      .exactOptional()
      .describe('Labels of the Tenant object; only the system tenant can set them.'),
    domains: z.array(text).min(1).exactOptional().describe('Names of Keystone domains.'),
  })
  .refine(
    (given) => Object.keys(given).length > 0,
    sentence('expected names, matchLabels or domains: nothing selects no tenant'),
  )
  .describe('Which tenants: those for which every given condition holds. One must be given.');

const userGroup = text.superRefine(
  checked('a group of users', (group) => {
    const prefix = group === '*' ? '*' : reservedGroupPrefix(group);
    return prefix && `begins with ${prefix}`;
  }),
);

const GRANTING_ROLES = [...CLUSTER_ROLES].flatMap(([role, rules]) =>
  withoutEscalation(rules).length > 0 ? [role] : [],
);

const administeringRole = text.refine(
  (name) => !name.startsWith('stonegate:') || GRANTING_ROLES.includes(name),
  { error: `one of ${GRANTING_ROLES.join(', ')}, or a name of your own` },
);

const administration = z.strictObject({
  name: label({ missing: 'a name for the audit log and the roles' }).describe('A unique name.'),
  groups: z.array(userGroup).min(1).describe('Groups as Stonegate names them, such as `keystone:group:ID`.'),
  domain: text
    .exactOptional()
    .describe("The Keystone domain of the groups' users; the system tenant's users without it."),
  tenants: tenantSelection,
  clusterRole: administeringRole.describe(
    "One of Stonegate's cluster roles, or a ClusterRole of the system tenant.",
  ),
  notAfter: instant.exactOptional().describe('The end, RFC 3339, such as 2027-03-31T00:00:00Z.'),
  reason: text.describe('Why; the audit log and the objects in the tenants show it.'),
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
    'Whether TenantAdministration objects of the system tenant count. In arktos mode only.',
  ),
  administrations: z
    .array(administration)
    .superRefine(unique('each name once', ({ name }) => name, 'name'))
    .default([])
    .describe('Administrations of sets of tenants, beside the objects. In arktos mode only.'),
  administrationsMustEnd: toggle('Whether an administration without `notAfter` is refused.'),
});

export type AuthorizationConfiguration = Output<typeof authorizationSchema>;
export type AdministrationConfiguration = Output<typeof administration>;
