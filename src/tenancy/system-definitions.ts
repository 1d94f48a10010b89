/**
 * What the system tenant's custom resource definitions mean for the discovery of other tenants. Arktos lists
 * the groups of all of them in every tenant, but has no document of their versions there. Those with a label
 * it serves in every tenant.
 */
import { z } from 'zod';
import { CRD_SHARING_POLICY } from '../kubernetes/kubernetes-object.ts';
import type { GroupDescription, ResourceNames } from './reduce-discovery.ts';

const metadata = z.object({ name: z.string(), labels: z.record(z.string(), z.string()).nullish() });
/** Go writes an empty list as null. */
const definitionListSchema = z.object({ items: z.array(z.object({ metadata })).nullable() });

/** API group → the names of its resources that are served in every tenant; perhaps none. */
export type SystemDefinitions = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * @param list a list of definitions, of their metadata at least: a name is `resource.group`
 * @returns undefined for anything else
 */
export function readSystemDefinitions(list: unknown): SystemDefinitions | undefined {
  const { data } = definitionListSchema.safeParse(list);
  if (data === undefined) return undefined;
  const groups = new Map<string, Set<string>>();
  for (const { metadata } of data.items ?? []) {
    const dot = metadata.name.indexOf('.');
    const group = metadata.name.slice(dot + 1);
    const forced = groups.get(group) ?? new Set();
    groups.set(group, forced);
    const isForced = metadata.labels?.[CRD_SHARING_POLICY]?.toLowerCase() === 'forced';
    if (isForced) forced.add(metadata.name.slice(0, dot));
  }
  return groups;
}

/**
 * Leaves only those versions of a group that a tenant can ask for, each once.
 *
 * @returns undefined if there is none
 */
export function withVersions<T extends GroupDescription>(
  group: T,
  has: (version: string) => boolean,
): T | undefined {
  const versions = [...new Map(group.versions.map((one) => [one.version, one])).values()].filter(
    ({ version }) => has(version),
  );
  const [first] = versions;
  if (first === undefined) return undefined;
  const preferred = versions.find(({ version }) => version === group.preferredVersion?.version);
  return { ...group, versions, preferredVersion: preferred ?? first };
}

/**
 * @param own the tenant's document of a version; undefined if it has none
 * @param system the system tenant's document of the same version
 * @param forced the resources of it that every tenant has: they are served even if the tenant defined its own
 *   of that name
 * @returns undefined if there are none, of either
 */
export function withForced<T extends ResourceNames>(
  own: T | undefined,
  system: T,
  forced: ReadonlySet<string>,
): T | undefined {
  const isForcedResource = ({ name }: { readonly name: string }) => forced.has(resourceOf(name));
  const shared = system.resources.filter(isForcedResource);
  if (shared.length === 0) return own;
  const others = own?.resources.filter((resource) => !isForcedResource(resource)) ?? [];
  return { ...(own ?? system), resources: [...others, ...shared] };
}

/** The resource that a subresource belongs to. */
function resourceOf(name: string): string {
  return name.split('/', 1)[0] ?? '';
}
