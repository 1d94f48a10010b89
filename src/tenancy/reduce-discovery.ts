/**
 * Takes out of a discovery document what a tenant can never have. Only named resources go: a tenant's own
 * cluster-scoped custom resources look just like the cluster's.
 */

/** What of an APIResourceList matters here. */
export interface ResourceNames {
  readonly groupVersion: string;
  readonly resources: readonly { readonly name: string }[];
}

/** What of an APIGroupList matters here. */
export interface GroupNames {
  readonly groups: readonly { readonly name: string }[];
}

export function reduceGroups<T extends GroupNames>(list: T, hidden: ReadonlySet<string>): T {
  return { ...list, groups: list.groups.filter(({ name }) => !hidden.has(name)) };
}

/** @param hidden as `group/resource`; a hidden resource takes its subresources along */
export function reduceResources<T extends ResourceNames>(list: T, hidden: ReadonlySet<string>): T {
  const slash = list.groupVersion.indexOf('/');
  const group = slash === -1 ? '' : list.groupVersion.slice(0, slash);
  const visible = list.resources.filter(({ name }) => !hidden.has(`${group}/${name.split('/', 1)[0] ?? ''}`));
  return { ...list, resources: visible };
}
