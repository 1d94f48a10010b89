/**
 * The section `publishing`: which objects are copied to tenants.
 */
import { z } from 'zod';
import {
  kindProblem,
  NAMESPACED_KINDS,
  resourceName,
  TENANT_KINDS,
} from '../../kubernetes/published-objects.ts';
import { namespaceProblem } from '../../kubernetes/reserved-names.ts';
import { resourceKind } from '../../kubernetes/resource-kind-schema.ts';
import { checked, label, type Output, period, sentence, unique } from '../../lib/schema-fields.ts';

const furtherKind = resourceKind({ namespaced: true, problem: kindProblem }).refine(
  (kind) => !NAMESPACED_KINDS.some((known) => resourceName(known) === resourceName(kind)),
  sentence('expected a further kind: this one is published anyway'),
);

const tenantScoped = z
  .strictObject({
    resource: resourceKind({ namespaced: false, known: TENANT_KINDS, problem: kindProblem }).describe(
      '`clusterroles`, `clusterrolebindings`, `customresourcedefinitions`, or `GROUP/VERSION/RESOURCE`.',
    ),
    names: z
      .string()
      .regex(/^(?:[A-Za-z0-9:.-]+\*?|\*)[A-Za-z0-9:.-]*$/, { error: 'a name, with at most one `*`' })
      .describe('The names that may be published; one `*` matches any text.'),
  })
  .transform(({ resource, names }) => ({ kind: resource, names }));

const namespace = label({ missing: 'a namespace' }).superRefine(checked('a namespace', namespaceProblem));

export const publishingSchema = z
  .strictObject({
    namespaces: z
      .array(namespace)
      .max(10)
      .superRefine(unique('each namespace once', (name) => name))
      .default([])
      .describe(
        'The namespaces whose annotated objects are copied: of the system tenant (arktos), or of the cluster (shared). A user who may write there and has the verb `publish` reaches every tenant.',
      ),
    clusterScoped: z
      .array(tenantScoped)
      .max(50)
      .default([])
      .describe('Objects without a namespace that may be published, by kind and name. In arktos mode only.'),
    kinds: z
      .array(furtherKind)
      .max(50)
      .default([])
      .describe(
        'Further kinds in the namespaces, as `GROUP/VERSION/RESOURCE`, besides ConfigMaps, Secrets, Roles, RoleBindings, LimitRanges, ResourceQuotas, NetworkPolicies and ServiceAccounts.',
      ),
    interval: period
      .prefault('5m')
      .describe(
        'Time between two runs if nothing changes; a run restores copies that were edited or deleted.',
      ),
  })
  .refine(
    ({ namespaces, clusterScoped }) => namespaces.length + clusterScoped.length > 0,
    sentence('is required, or clusterScoped is', 'namespaces'),
  );

export type PublishingConfiguration = Output<typeof publishingSchema>;

/**
 * Whether an object without a namespace may be published by its name.
 *
 * @param pattern with at most one `*`, which stands for any characters or none
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return name === pattern;
  return name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after);
}
