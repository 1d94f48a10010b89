/**
 * The section `bindings`: how Keystone projects and roles become namespaces and role bindings.
 */
import { z } from 'zod';
import { MAX_LABEL_LENGTH, namespaceProblem } from '../../kubernetes/reserved-names.ts';
import { checked, type Output, period, sentence, text, toggle } from '../../lib/schema-fields.ts';
import { upstreamCredential } from '../../lib/schema-files.ts';
import { CLUSTER_ROLES } from '../../rbac/cluster-roles.ts';

/** RBAC requires a name that is one segment of a path. */
const roleName = text.refine((name) => name !== '.' && name !== '..' && !/[/%]/.test(name), {
  error: 'the name of a role',
});

const clusterRole = roleName.refine((name) => !name.startsWith('stonegate:') || CLUSTER_ROLES.has(name), {
  error: `one of ${[...CLUSTER_ROLES.keys()].join(', ')}, or a name of your own`,
});

/** Without id and name, all projects of a domain would share one namespace. */
const namespaceFormat = text
  .refine((format) => format.replaceAll(/%[nid]/g, '').indexOf('%') === -1, {
    error: '%n, %i and %d alone',
    abort: true,
  })
  .refine((format) => /%[ni]/.test(format), {
    ...sentence('expected %i or %n in it: else all projects would have one namespace'),
    abort: true,
  })
  // Placeholders may have any value; a letter suffices to check the text around them.
  .superRefine(
    checked('a format of namespaces', (format) =>
      namespaceProblem(format.replaceAll(/%[nid]/g, 'x').slice(0, MAX_LABEL_LENGTH + 1)),
    ),
  );

const namespace = text.superRefine(checked('a namespace', namespaceProblem));

const roleTarget = z
  .xor(
    [
      clusterRole.transform((clusterRole) => ({ clusterRole })),
      z.strictObject({ clusterRole: clusterRole.describe('A ClusterRole.') }),
      z.strictObject({ role: roleName.describe('A Role that the operator maintains in each namespace.') }),
    ],
    { error: 'the name of a ClusterRole, { clusterRole } or { role }' },
  )
  .describe('The name of a ClusterRole, or `{ clusterRole }`, or `{ role }`.');

const roles = z.record(text, roleTarget);

const exception = z.strictObject({
  ignore: z.boolean().exactOptional().describe('Nothing is created for it; existing objects stay.'),
  roles: roles
    .exactOptional()
    .describe('Keystone role → role to bind there, in addition to the general ones.'),
});

const DEFAULT_ROLES = {
  admin: { clusterRole: 'stonegate:manage' },
  member: { clusterRole: 'stonegate:edit' },
  reader: { clusterRole: 'stonegate:read' },
};

const ignore = z.strictObject({
  projectNames: z.array(text).default([]).describe('Projects of these names.'),
  roles: z.array(text).default([]).describe('Keystone roles that are never bound.'),
  users: z.array(text).default([]).describe('Ids of users that get no role binding (`subjects: users`).'),
});

export const bindingsSchema = z.strictObject({
  provision: z
    .enum(['none', 'onRequest', 'periodic'])
    .default('none')
    .describe(
      'When missing objects are created: never, when a user of the project sends a request, or periodically for all projects.',
    ),
  interval: period
    .prefault('5m')
    .describe('Time between two periodic runs; with `onRequest`, the time until a project is checked again.'),
  credential: upstreamCredential
    .exactOptional()
    .describe('The credential of provisioning at the API server. It must not be the one that impersonates.'),
  namespaceFormat: namespaceFormat
    .default('%i')
    .describe("A project's namespace: `%i` its id, `%n` its name, `%d` the id of its domain."),
  roles: roles
    .default(DEFAULT_ROLES)
    .describe('Keystone role → ClusterRole or Role; other Keystone roles are not bound.'),
  createRoles: toggle(
    'Whether `stonegate:read`, `control`, `edit`, `manage` and the basic-user role are created and updated too.',
    true,
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
    .record(text, exception.extend({ namespace: namespace.exactOptional().describe('Its namespace.') }))
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

export type BindingsConfiguration = Output<typeof bindingsSchema>;
/**
 * The role that a Keystone role is bound to: a ClusterRole, or a Role that the operator maintains in each
 * namespace.
 */
export type RoleTarget = Output<typeof roleTarget>;
