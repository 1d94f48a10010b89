/**
 * Finds a resource by a word of kubectl's (`po`, `pod`, `deployments.apps`, `widgets.v1.example.com`) in the
 * cluster's discovery, as the user sees it.
 * https://kubernetes.io/docs/reference/kubectl/#resource-types
 */
import { z } from 'zod';
import { mapWithConcurrency } from '../lib/concurrency.ts';

export interface FoundResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Undefined if discovery does not have it. */
  readonly namespaced: boolean | undefined;
  /** If discovery does not have it, the names of the resources that it has. */
  readonly known: readonly string[];
}

/** Groups whose resources are read at the same time. */
const AT_ONCE = 8;
/** Words that are right in a rule, and that no discovery has. */
const ONLY_IN_RULES: ReadonlySet<string> = new Set(['*', 'users', 'groups', 'uids', 'userextras']);

/** Whether it is no mistake if discovery does not have the resource: `*`, and what one impersonates. */
export function isOnlyInRules(resource: string): boolean {
  return ONLY_IN_RULES.has(resource);
}

const text = z.string();
const version = z.object({ version: text });
const group = z.object({ name: text, versions: z.array(version), preferredVersion: version.optional() });
const resource = z.object({
  name: text,
  singularName: text.default(''),
  kind: text,
  namespaced: z.boolean(),
  shortNames: z.array(text).default([]),
});
/** A response that is no discovery document counts as an empty one. */
const groupList = z.object({ groups: z.array(group) }).catch({ groups: [] });
const resourceList = z.object({ resources: z.array(resource) }).catch({ resources: [] });

/**
 * @param get a document of discovery
 * @returns the word as it is written if no group has such a resource
 */
export async function findResource(
  word: string,
  get: (path: string) => Promise<unknown>,
): Promise<FoundResource> {
  const [name = '', ...rest] = word.toLowerCase().split('.');
  const known: string[] = [];
  const read = async (path: string) => {
    const { resources } = resourceList.parse(await get(path));
    known.push(...resources.map((resource) => resource.name));
    return resourceIn(resources, name);
  };
  const core = rest.length === 0 ? await read('/api/v1') : undefined;
  if (core !== undefined) return { apiGroup: '', ...core };
  const lists = await mapWithConcurrency(
    versionsOf(await get('/apis'), rest),
    AT_ONCE,
    async ([apiGroup, version]) => {
      const found = await read(`/apis/${apiGroup}/${version}`);
      return found && { apiGroup, ...found };
    },
  );
  const written = { apiGroup: rest.join('.'), resource: name, namespaced: undefined };
  return lists.find((found) => found !== undefined) ?? { ...written, known };
}

/**
 * @param rest what stands behind the resource: nothing, a group, or a version and a group
 * @returns groups with the version to read
 */
function versionsOf(list: unknown, rest: readonly string[]): [group: string, version: string][] {
  const [first = '', ...others] = rest;
  return groupList.parse(list).groups.flatMap(({ name, versions, preferredVersion = versions[0] }) => {
    if (name === others.join('.') && versions.some(({ version }) => version === first))
      return [[name, first]];
    const wanted = rest.length === 0 || name === rest.join('.');
    return wanted && preferredVersion ? [[name, preferredVersion.version]] : [];
  });
}

function resourceIn(
  resources: readonly z.infer<typeof resource>[],
  word: string,
): Omit<FoundResource, 'apiGroup'> | undefined {
  const found = resources.find(
    ({ name, singularName, kind, shortNames }) =>
      !name.includes('/') && [name, singularName, kind.toLowerCase(), ...shortNames].includes(word),
  );
  return found && { resource: found.name, namespaced: found.namespaced, known: [] };
}
