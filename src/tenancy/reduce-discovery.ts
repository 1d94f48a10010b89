/**
 * Takes out of a discovery document what a tenant can never have. Only named resources go: a tenant's own
 * cluster-scoped custom resources look just like the cluster's.
 */
import { z } from 'zod';

const resourceSchema = z.looseObject({
  name: z.string(),
  namespaced: z.boolean().exactOptional(),
  /** Only in Arktos: false for a cluster-scoped resource, which all tenants share. */
  tenanted: z.boolean().exactOptional(),
});

/** What of an APIResourceList matters here; Go writes an empty list as null. */
export const resourceListSchema = z.looseObject({
  groupVersion: z.string(),
  resources: z
    .array(resourceSchema)
    .nullable()
    .transform((resources) => resources ?? []),
});

const versionSchema = z.looseObject({ version: z.string() });

/** What of an APIGroup matters here. */
export const groupSchema = z.looseObject({
  name: z.string(),
  versions: z.array(versionSchema),
  preferredVersion: versionSchema.exactOptional(),
});

export const groupListSchema = z.looseObject({
  groups: z
    .array(groupSchema)
    .nullable()
    .transform((groups) => groups ?? []),
});

export type ResourceDescription = z.infer<typeof resourceSchema>;
export type ResourceNames = z.infer<typeof resourceListSchema>;
export type GroupDescription = z.infer<typeof groupSchema>;
export type GroupNames = z.infer<typeof groupListSchema>;

export function reduceGroups<T extends GroupNames>(list: T, hidden: ReadonlySet<string>): T {
  return { ...list, groups: list.groups.filter(({ name }) => !hidden.has(name)) };
}

/**
 * @param hidden as `group/resource`; a hidden resource takes its subresources along
 * @param readable those of them that stay, without subresources, and with which verbs
 */
export function reduceResources<T extends ResourceNames>(
  list: T,
  hidden: ReadonlySet<string>,
  readable: ReadonlyMap<string, readonly string[]> = new Map(),
): T {
  const slash = list.groupVersion.indexOf('/');
  const group = slash === -1 ? '' : list.groupVersion.slice(0, slash);
  const visible = list.resources.flatMap((resource) => {
    const { name } = resource;
    if (!hidden.has(`${group}/${name.split('/', 1)[0] ?? ''}`)) return [resource];
    const verbs = readable.get(`${group}/${name}`);
    return verbs === undefined ? [] : [{ ...resource, verbs }];
  });
  return { ...list, resources: visible };
}
