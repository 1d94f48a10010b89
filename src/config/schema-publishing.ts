/**
 * The schema of `publishing`: which objects are copied to tenants.
 */
import { z } from 'zod';
import { type PublishedKind, TENANT_KINDS } from '../api/published-objects.ts';
import { label, period } from './fields.ts';

const KIND = 'GROUP/VERSION/RESOURCE, such as batch/v1/cronjobs, or VERSION/RESOURCE of the core group';
const PARTS = /^(?:([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\/)?(v\d+(?:(?:alpha|beta)\d+)?)\/([a-z][a-z0-9-]*)$/;

/** The pattern is for the chart, which grants rights on what the values name. */
function kind(namespaced: boolean) {
  const known = namespaced ? [] : TENANT_KINDS;
  const names = known.map(({ resource }) => resource);
  const read = z.string().transform((given, context): PublishedKind => {
    const named = known.find(({ resource }) => resource === given);
    if (named !== undefined) return named;
    const [, group = '', version, resource] = PARTS.exec(given) ?? [];
    if (version !== undefined && resource !== undefined) return { group, version, resource, namespaced };
    context.addIssue({
      code: 'custom',
      message: namespaced ? KIND : `one of ${names.join(', ')}, or ${KIND}`,
    });
    return z.NEVER;
  });
  return read.meta({
    type: 'string',
    pattern: [...names.map((name) => `^${name}$`), PARTS.source].join('|'),
  });
}

const tenantScoped = z.strictObject({
  resource: kind(false).describe(
    '`clusterroles`, `clusterrolebindings`, `customresourcedefinitions`, or `GROUP/VERSION/RESOURCE`.',
  ),
  names: z
    .string()
    .regex(/^(?:[A-Za-z0-9:.-]+\*?|\*)[A-Za-z0-9:.-]*$/, { error: 'a name, with at most one `*`' })
    .describe('The names that may be published; one `*` stands for any text.'),
});

export const publishingSchema = z.strictObject({
  namespaces: z
    .array(label({ missing: 'a namespace' }))
    .max(10)
    .default([])
    .describe(
      'The namespaces whose annotated objects are copied: of the system tenant (arktos), or of the cluster (shared). A user who may write there and has the verb `publish` reaches every tenant.',
    ),
  clusterScoped: z
    .array(tenantScoped.transform(({ resource, names }) => ({ kind: resource, names })))
    .max(50)
    .default([])
    .describe('Objects without a namespace that may be published, by kind and name. In arktos mode only.'),
  kinds: z
    .array(kind(true))
    .max(50)
    .default([])
    .describe(
      'Further kinds in the namespaces, as `GROUP/VERSION/RESOURCE`, besides ConfigMaps, Secrets, Roles, RoleBindings, LimitRanges, ResourceQuotas, NetworkPolicies and ServiceAccounts.',
    ),
  interval: period
    .prefault('5m')
    .describe('Time between two runs if nothing changes; a run restores copies that were edited or deleted.'),
});
