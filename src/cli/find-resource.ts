/**
 * Finds a resource by a word of kubectl's (`po`, `pod`, `deployments.apps`, `widgets.v1.example.com`) in the
 * cluster's discovery, as the user sees it.
 * https://kubernetes.io/docs/reference/kubectl/#resource-types
 */
import { mapWithConcurrency } from '../lib/concurrency.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

export interface FoundResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Undefined if discovery does not have it. */
  readonly namespaced: boolean | undefined;
  /** The names of the resource's subresources: `log`, `exec`. */
  readonly subresources: readonly string[];
}

/** Groups whose resources are read at the same time. */
const AT_ONCE = 8;
/** Words that are right in a rule, and that no discovery has. */
const ONLY_IN_RULES: ReadonlySet<string> = new Set(['*', 'users', 'groups', 'uids', 'userextras']);

/** Whether it is no mistake if discovery does not have the resource: `*`, and what one impersonates. */
export function isOnlyInRules(resource: string): boolean {
  return ONLY_IN_RULES.has(resource);
}

/**
 * @param get a document of discovery
 * @returns the word as it is written if no group has such a resource
 */
export async function findResource(
  word: string,
  get: (path: string) => Promise<unknown>,
): Promise<FoundResource> {
  const [name = '', ...rest] = word.toLowerCase().split('.');
  const core = rest.length === 0 ? resourceIn(await get('/api/v1'), name) : undefined;
  if (core !== undefined) return { apiGroup: '', ...core };
  const versions = versionsOf(await get('/apis'), rest);
  const lists = await mapWithConcurrency(versions, AT_ONCE, async ({ group, version }) => {
    const found = resourceIn(await get(`/apis/${group}/${version}`), name);
    return found && { apiGroup: group, ...found };
  });
  const written = { apiGroup: rest.join('.'), resource: name, namespaced: undefined, subresources: [] };
  return lists.find((found) => found !== undefined) ?? written;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** @param rest what stands behind the resource: nothing, a group, or a version and a group */
function versionsOf(list: unknown, rest: readonly string[]): GroupVersion[] {
  const groups = isJSONObject(list) && Array.isArray(list.groups) ? list.groups.filter(isJSONObject) : [];
  const [first = '', ...others] = rest;
  return groups.flatMap((entry): GroupVersion[] => {
    const group = textOf(entry.name);
    const versions = namesOf(entry.versions, 'version');
    const preferred = isJSONObject(entry.preferredVersion)
      ? textOf(entry.preferredVersion.version)
      : versions[0];
    if (rest.length > 0 && group === others.join('.') && versions.includes(first))
      return [{ group, version: first }];
    if (rest.length > 0 && group !== rest.join('.')) return [];
    return preferred === undefined ? [] : [{ group, version: preferred }];
  });
}

function resourceIn(list: unknown, name: string): Omit<FoundResource, 'apiGroup'> | undefined {
  const resources =
    isJSONObject(list) && Array.isArray(list.resources) ? list.resources.filter(isJSONObject) : [];
  const found = resources.find((entry) => isCalled(entry, name));
  if (found === undefined) return undefined;
  const resource = textOf(found.name);
  const subresources = resources
    .map((entry) => textOf(entry.name))
    .filter((each) => each.startsWith(`${resource}/`))
    .map((each) => each.slice(resource.length + 1));
  return { resource, namespaced: found.namespaced === true, subresources };
}

function isCalled({ name, singularName, shortNames, kind }: JSONObject, word: string): boolean {
  if (textOf(name).includes('/')) return false;
  const short: readonly unknown[] = Array.isArray(shortNames) ? shortNames : [];
  return [name, singularName, textOf(kind).toLowerCase(), ...short].includes(word);
}

function namesOf(list: unknown, key: string): string[] {
  return Array.isArray(list) ? list.filter(isJSONObject).map((entry) => textOf(entry[key])) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
