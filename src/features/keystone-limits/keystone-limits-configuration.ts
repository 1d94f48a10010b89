/**
 * The section `quota.keystoneLimits`: which of Keystone's unified limits bound which resources of the
 * cluster. docs/quota.md explains it.
 */
import { z } from 'zod';
import { count, type Output, text } from '../../lib/schema-fields.ts';

const QUOTA_NAME = 'a name of ResourceQuota, such as requests.cpu, pods or count/deployments.apps';
const quotaName = z
  .string()
  .max(253, { error: QUOTA_NAME })
  .regex(/^[a-z0-9](?:[a-z0-9./-]*[a-z0-9])?$/, { error: QUOTA_NAME });

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

const name = text.describe('The name of the resource in Keystone.');
const limitedResource = z
  .xor(
    [
      name.transform((name) => ({ name, unit: '' as const })),
      z.strictObject({
        name,
        unit: z.enum(UNITS).describe("What 1 of Keystone's limit is: `Mi` for a limit of memory in MiB."),
      }),
    ],
    { error: 'the name of a resource in Keystone, or { name, unit }' },
  )
  .describe('The name of the resource in Keystone, or `{ name, unit }`.');

export const keystoneLimitsSchema = z.strictObject({
  service: text.describe('The service of the limits in Keystone: its name or id.'),
  region: text
    .exactOptional()
    .describe('The id of the region of the limits. Without it, those that belong to no region apply.'),
  resources: z
    .record(quotaName, limitedResource)
    .refine((resources) => Object.keys(resources).length > 0, { error: 'at least one resource' })
    .describe('Name in a ResourceQuota → resource in Keystone; other limits are ignored.'),
  unregistered: z
    .enum(['error', 'unlimited'])
    .default('error')
    .describe('What a resource without a registered limit is. After an error nothing of it may be used.'),
  roles: count.default(200).describe('The most Roles in the namespace of a project.'),
  roleBindings: count.default(200).describe('The most RoleBindings in the namespace of a project.'),
});

export type KeystoneLimitsConfiguration = Output<typeof keystoneLimitsSchema>;
