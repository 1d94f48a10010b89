/**
 * One line of the ABAC policy file: its schema, and which rules its patterns select of what policies may
 * grant. Every `error` text continues "expected …".
 * https://pkg.go.dev/k8s.io/kubernetes/pkg/apis/abac/v1beta1#PolicySpec
 */
import { z } from 'zod';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { labelProblem, reservedGroupPrefix, reservedUserPrefix } from '../../kubernetes/reserved-names.ts';
import { label, sentence, text } from '../../lib/schema-fields.ts';
import type { GrantableRule } from '../../rbac/grantable-rules.ts';

export const ABAC_API_VERSION = 'abac.authorization.kubernetes.io/v1beta1';

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

type Pattern = Pick<AbacLine['spec'], 'apiGroup' | 'resource' | 'readonly'>;

const RBAC = 'rbac.authorization.k8s.io';

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const ALL_VERBS: ReadonlySet<string> = new Set([
  ...READ_VERBS,
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);

/** A GET of these subresources opens a connection that can do more than read. */
const CONNECTION = /\/(?:exec|attach|portforward|proxy)$/;
/** Credentials, and a way into a running pod, in every API group. */
const NAMED_ONLY = /^secrets(?:\/|$)|\/token$|\/ephemeralcontainers$/;

/** @returns the problem of a pattern that contradicts itself; undefined if there is none */
export function patternProblem({ resource, readonly }: Pattern): string | undefined {
  return readonly && CONNECTION.test(resource)
    ? `expected false: a GET of ${resource} opens a connection, on which nothing is read-only`
    : undefined;
}

/**
 * A resource is matched by its full name alone, `pods` does not include `pods/exec`; `*` leaves out what
 * would give more than the objects themselves.
 *
 * @returns concrete rules, each contained in one of `grantable`; empty if the pattern selects nothing
 */
export function rulesOfPattern(
  { apiGroup, resource, readonly }: Pattern,
  grantable: readonly GrantableRule[],
): PolicyRule[] {
  const wanted = readonly ? READ_VERBS : ALL_VERBS;
  return grantable.flatMap((rule): PolicyRule[] => {
    const [group] = rule.apiGroups;
    if (apiGroup !== EVERY && apiGroup !== group) return [];
    const resources = rule.resources.filter((full) =>
      resource === EVERY ? isInEvery(group, full) : resource === full,
    );
    const verbs = rule.verbs.filter((verb) => wanted.has(verb));
    return resources.length === 0 || verbs.length === 0 ? [] : [{ ...rule, resources, verbs }];
  });
}

function isInEvery(group: string, full: string): boolean {
  return group !== RBAC && !CONNECTION.test(full) && !NAMED_ONLY.test(full);
}
