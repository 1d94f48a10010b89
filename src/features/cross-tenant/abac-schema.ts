/**
 * The schema of one line of the ABAC policy file. Every `error` text continues "expected …".
 * https://pkg.go.dev/k8s.io/kubernetes/pkg/apis/abac/v1beta1#PolicySpec
 */
import { z } from 'zod';
import { labelProblem, reservedGroupPrefix, reservedUserPrefix } from '../../kubernetes/reserved-names.ts';
import { label, sentence, text } from '../../lib/schema-fields.ts';
import { ABAC_API_VERSION } from './abac-v1beta1.ts';

const EVERY = '*';
const MAX_NAME_LENGTH = 512;

/** @param prefixOf returns a prefix that no name may have */
function subjectName(prefixOf: (name: string) => string | undefined) {
  return text
    .max(MAX_NAME_LENGTH, { error: `a name of at most ${MAX_NAME_LENGTH} characters, or *` })
    .refine((name) => prefixOf(name) === undefined, {
      error: 'a name within the tenant, or *; no user or group of one begins with a reserved prefix',
    });
}

const NAMESPACE = 'the name of a namespace, or * for all and for what has no namespace';

const spec = z
  .strictObject({
    name: label({ missing: 'a name for the audit log and the roles' }),
    tenant: text,
    space: text,
    user: subjectName(reservedUserPrefix).exactOptional(),
    group: subjectName(reservedGroupPrefix).exactOptional(),
    namespace: z.string().refine((name) => name === EVERY || labelProblem(name) === undefined, {
      error: NAMESPACE,
    }),
    apiGroup: z.string().regex(/^(?:\*|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?$/, {
      error: 'an API group, empty for the core group, or * for all',
    }),
    resource: z.string().regex(/^(?:\*|[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9-]+)?)$/, {
      error: 'a resource in the plural, a subresource such as pods/log, or * for all',
    }),
    readonly: z.boolean(),
    nonResourcePath: z.never({ error: 'no paths: a policy grants resources' }).optional(),
  })
  .refine(
    ({ user, group }) => user === undefined || group === undefined || (user !== EVERY && group !== EVERY),
    sentence('expected user or group alone if it is *, which would disable the other condition, found both'),
  )
  .refine(
    ({ user, group }) => user !== undefined || group !== undefined,
    sentence('expected user, group, or both without *, found neither'),
  );

export const abacLineSchema = z.strictObject({
  apiVersion: z.literal(ABAC_API_VERSION),
  kind: z.literal('Policy'),
  spec,
});

export type AbacLine = z.output<typeof abacLineSchema>;
