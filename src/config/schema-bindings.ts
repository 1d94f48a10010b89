/**
 * The schema of `bindings`: how Keystone projects and roles become namespaces and role bindings.
 */
import { z } from 'zod';
import type { RoleTarget } from '../api/config-v1alpha1.ts';
import { type FileField, period, text, upstreamCredential } from './fields.ts';

const roleTarget = z
  .union([
    text.transform((clusterRole): RoleTarget => ({ clusterRole })),
    z.strictObject({ clusterRole: text.describe('A ClusterRole.') }),
    z.strictObject({ role: text.describe('A Role that the operator maintains in each namespace.') }),
  ])
  .describe('The name of a ClusterRole, or `{ clusterRole }`, or `{ role }`.');

const roles = z.record(text, roleTarget);

const exception = z.strictObject({
  ignore: z.boolean().exactOptional().describe('Nothing is created for it; existing objects stay.'),
  roles: roles
    .exactOptional()
    .describe('Keystone role → role to bind there, in addition to the general ones.'),
});

export const DEFAULT_ROLES: Readonly<Record<string, RoleTarget>> = {
  admin: { clusterRole: 'stonegate:manage' },
  member: { clusterRole: 'stonegate:edit' },
  reader: { clusterRole: 'stonegate:read' },
};

export function bindingsSchema(file: FileField) {
  const ignore = z.strictObject({
    projectNames: z.array(text).default([]).describe('Projects of these names.'),
    roles: z.array(text).default([]).describe('Keystone roles that are never bound.'),
    users: z.array(text).default([]).describe('Ids of users that get no role binding (`subjects: users`).'),
  });
  return z.strictObject({
    provision: z
      .enum(['none', 'onRequest', 'periodic'])
      .default('none')
      .describe(
        'When missing objects are created: never, when a user of the project sends a request, or periodically for all projects.',
      ),
    interval: period
      .prefault('5m')
      .describe(
        'Time between two periodic runs; with `onRequest`, the time until a project is checked again.',
      ),
    credential: upstreamCredential(file)
      .exactOptional()
      .describe(
        'The credential of provisioning at the API server. It must not be the one that impersonates.',
      ),
    namespaceFormat: text
      .default('%i')
      .describe("A project's namespace: `%i` its id, `%n` its name, `%d` the id of its domain."),
    roles: roles
      .default({ ...DEFAULT_ROLES })
      .describe('Keystone role → ClusterRole or Role; other Keystone roles are not bound.'),
    createRoles: z
      .boolean()
      .default(true)
      .describe(
        'Whether `stonegate:read`, `control`, `edit`, `manage` and the basic-user role are created and updated too.',
      ),
    storageClusterID: z
      .string()
      .regex(/^(?:[1-5]?\d|6[0-3])$/, { error: 'a number from "0" to "63", in quotes' })
      .default('0')
      .describe('The storage cluster of the tenants that Stonegate creates (arktos).'),
    subjects: z
      .enum(['groups', 'users'])
      .default('groups')
      .describe(
        'The subject of a RoleBinding: the group of project and role or, as in k8s-keystone-auth, each user.',
      ),
    projects: z
      .record(text, exception.extend({ namespace: text.exactOptional().describe('Its namespace.') }))
      .default({})
      .describe('Exceptions, by project id.'),
    domains: z.record(text, exception).default({}).describe('Exceptions, by domain id.'),
    ignore: ignore.prefault({}).describe('Projects, roles and users for which nothing is created.'),
    maxDeletedShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.2)
      .describe(
        'If a run would delete more than this share of the bindings, it deletes none without `--force`.',
      ),
  });
}
