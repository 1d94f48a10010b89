/**
 * kube-apiserver's AuthenticationConfiguration as a zod schema: the file an API server is started with, and nothing of
 * ours. Unknown fields are errors, as they are there.
 * https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/
 */
import { z } from 'zod';
import type { AnonymousConfiguration } from '../api/config-v1alpha1.ts';
import { requestPath } from './fields.ts';
import { kubernetesJWTSchema } from './schema-jwt.ts';

const MAX_ISSUERS = 64;

const anonymous = z
  .strictObject({
    enabled: z.boolean().default(false),
    conditions: z.array(z.strictObject({ path: requestPath })).default([]),
  })
  .refine(({ enabled, conditions }) => enabled || conditions.length === 0, {
    error: 'no conditions where anonymous requests are not enabled',
    path: ['conditions'],
  })
  .transform(
    ({ enabled, conditions }): AnonymousConfiguration => ({
      enabled,
      paths: conditions.map(({ path }) => path),
    }),
  );

export const authenticationFileSchema = z.strictObject({
  apiVersion: z.enum(['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1'], {
    error: ({ input }) =>
      input === 'apiserver.config.k8s.io/v1alpha1'
        ? '"apiserver.config.k8s.io/v1" or "apiserver.config.k8s.io/v1beta1" (whose fields mean the same)'
        : undefined,
  }),
  kind: z.literal('AuthenticationConfiguration'),
  jwt: z
    .array(kubernetesJWTSchema)
    .max(MAX_ISSUERS, { error: `at most ${MAX_ISSUERS} issuers` })
    .default([]),
  anonymous: anonymous.exactOptional(),
});

export type AuthenticationFile = z.output<typeof authenticationFileSchema>;
