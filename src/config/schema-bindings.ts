/**
 * `bindings`: how Keystone's projects and roles become namespaces and rolebindings.
 */
import { z } from 'zod';
import type { RoleTarget } from '../api/config-v1alpha1.ts';
import { type FileField, period, text, upstreamCredential } from './fields.ts';

const roleTarget = z
  .union([
    text.transform((clusterRole): RoleTarget => ({ clusterRole })),
    z.strictObject({ clusterRole: text.describe('A ClusterRole.') }),
    z.strictObject({ role: text.describe('A Role that somebody keeps in each namespace.') }),
  ])
  .describe('The name of a ClusterRole, or `{ clusterRole }`, or `{ role }`.');

const roles = z.record(text, roleTarget);

const exception = z.strictObject({
  ignore: z.boolean().exactOptional().describe('Nothing is made for it; what was made stays.'),
  roles: roles.exactOptional().describe('Keystone role → what it becomes there, beside those for all.'),
});

const DEFAULT_ROLES: Readonly<Record<string, RoleTarget>> = {
  admin: { clusterRole: 'stonegate:manage' },
  member: { clusterRole: 'stonegate:edit' },
  reader: { clusterRole: 'stonegate:read' },
};

export function bindingsSchema(file: FileField) {
  const ignore = z.strictObject({
    projectNames: z.array(text).default([]).describe('Projects of these names.'),
    roles: z.array(text).default([]).describe('Keystone roles that never become anything.'),
    users: z.array(text).default([]).describe('Ids of users that get no binding (`subjects: users`).'),
  });
  return z.strictObject({
    provision: z
      .enum(['none', 'onRequest', 'periodic'])
      .default('none')
      .describe(
        'Whether missing objects are made: never, when somebody of the project comes, or all in turns.',
      ),
    interval: period
      .prefault('5m')
      .describe(
        'From the end of one periodic run to the next; on request, until a project is looked at again.',
      ),
    credential: upstreamCredential(file)
      .exactOptional()
      .describe('What provisioning is known by at the API server: not what impersonates.'),
    namespaceFormat: text
      .default('%i')
      .describe("A project's namespace: `%i` its id, `%n` its name, `%d` the id of its domain."),
    roles: roles
      .default({ ...DEFAULT_ROLES })
      .describe('Keystone role → ClusterRole or Role; others become nothing.'),
    createRoles: z
      .boolean()
      .default(true)
      .describe(
        'Whether `stonegate:read`, `control`, `edit`, `manage` and the basic-user role are made too.',
      ),
    storageClusterID: z
      .string()
      .regex(/^(?:[1-5]?\d|6[0-3])$/, { error: 'a number from "0" to "63", in quotes' })
      .default('0')
      .describe('The storage cluster of the tenants that are made (arktos).'),
    subjects: z
      .enum(['groups', 'users'])
      .default('groups')
      .describe(
        'Whom a RoleBinding names: the group of project and role, or each user, as k8s-keystone-auth does.',
      ),
    projects: z
      .record(text, exception.extend({ namespace: text.exactOptional().describe('Its namespace.') }))
      .default({})
      .describe('Exceptions, by project id.'),
    domains: z.record(text, exception).default({}).describe('Exceptions, by domain id.'),
    ignore: ignore.prefault({}).describe('What nothing is made for.'),
    maxDeletedShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.2)
      .describe('Where a larger share of the bindings would go at once, none goes without `--force`.'),
  });
}
