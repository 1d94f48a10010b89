/**
 * Takes out of a discovery document what a tenant can never have. Only named resources go: a tenant's own
 * cluster-scoped custom resources look just like the cluster's.
 */

import { goList, isJSONObject, type JSONObject } from '../lib/json-object.ts';

/** What of an APIResourceList matters here. */
export interface ResourceNames {
  readonly groupVersion: string;
  readonly resources: readonly ResourceDescription[];
}

export interface ResourceDescription {
  readonly name: string;
  readonly namespaced?: boolean;
  /** Only in Arktos: false for a cluster-scoped resource, which all tenants share. */
  readonly tenanted?: boolean;
}

/** What of an APIGroup matters here. */
export interface GroupDescription {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
  readonly preferredVersion?: { readonly version: string };
}

/** What of an APIGroupList matters here. */
export interface GroupNames {
  readonly groups: readonly GroupDescription[];
}

export function reduceGroups<T extends GroupNames>(list: T, hidden: ReadonlySet<string>): T {
  return { ...list, groups: list.groups.filter(({ name }) => !hidden.has(name)) };
}

/** @returns undefined for what is no APIResourceList */
export function readResourceList(list: unknown): ResourceNames | undefined {
  if (!isJSONObject(list)) return undefined;
  const read = { ...list, resources: goList(list.resources) };
  return isResourceList(read) ? read : undefined;
}

/** @returns undefined for what is no APIGroupList */
export function readGroupList(list: unknown): GroupNames | undefined {
  if (!isJSONObject(list)) return undefined;
  const read = { ...list, groups: goList(list.groups) };
  return isGroupList(read) ? read : undefined;
}

/** @returns undefined for what is no APIGroup */
export function readGroup(group: unknown): GroupDescription | undefined {
  return isGroup(group) ? group : undefined;
}

function isResourceList(list: unknown): list is ResourceNames {
  return (
    isJSONObject(list) &&
    typeof list.groupVersion === 'string' &&
    Array.isArray(list.resources) &&
    list.resources.every(isNamed)
  );
}

function isGroupList(list: unknown): list is GroupNames {
  return isJSONObject(list) && Array.isArray(list.groups) && list.groups.every(isGroup);
}

function isGroup(group: unknown): group is GroupDescription {
  return isNamed(group) && Array.isArray(group.versions) && group.versions.every(isVersion);
}

function isVersion(version: unknown): boolean {
  return isJSONObject(version) && typeof version.version === 'string';
}

function isNamed(one: unknown): one is JSONObject & { readonly name: string } {
  return isJSONObject(one) && typeof one.name === 'string';
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
