/**
 * `authentication.tokenFile`, `.basicAuthFile`, `.anonymous` and `.impersonationExtraKeys`.
 */
import { z } from 'zod';
import { EXTRA_KEY, RESERVED_EXTRA_KEY } from '../api/reserved-names.ts';
import { prefixOrNone, requestPath } from './fields.ts';
import type { FileField } from './schema-secret.ts';

/** @param ownPrefix before names and groups unless the operator says otherwise */
export function staticFileSchema(file: FileField, ownPrefix: string) {
  const own = prefixOrNone.prefault(ownPrefix);
  return z.strictObject({
    file: file.describe('Read anew when it changes; a line that is wrong keeps the last good file.'),
    usernamePrefix: own.describe('Put before user names, so that nobody shares one. `-` means none.'),
    groupsPrefix: own.describe('Put before groups. `-` means none.'),
    systemTenantByDefault: z
      .boolean()
      .default(false)
      .describe('Lines without a tenant are of the system tenant; else they are refused.'),
  });
}

export const anonymousSchema = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Let them in as `system:anonymous`.'),
    paths: z.array(requestPath).default([]).describe('Exactly these paths; all without it.'),
  })
  .refine(({ enabled, paths }) => enabled || paths.length === 0, {
    error: 'no paths where anonymous requests are not enabled',
    path: ['paths'],
  });

export const impersonationExtraKey = z
  .string()
  .regex(EXTRA_KEY, { error: 'a key of a-z, 0-9, "/", ".", "_" and "-"' })
  .refine((key) => !RESERVED_EXTRA_KEY.test(key), {
    error: 'a key of no reserved domain: kubernetes.io, k8s.io and stonegate.dev are',
  });
