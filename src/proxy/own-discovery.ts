/**
 * Stonegate's own group in discovery: its own documents, and the API server's lists of groups with it. A list
 * that cannot be parsed stays as it is.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import type { APIResourceList } from '../kubernetes/meta-v1.ts';
import { goList, isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { OWN_API_VERSION, OWN_GROUP, OWN_OPENAPI_PATH, OWN_VERSION, type OwnResource } from './own-api.ts';

/** The group of `tenancy.stonegate.dev/v1alpha1`, whose definitions features give. */
const STORED_GROUP = `tenancy.${OWN_GROUP}`;
const VERSION = { groupVersion: OWN_API_VERSION, version: OWN_VERSION };

/** The group as in an APIGroupList. */
const OWN_API_GROUP = { name: OWN_GROUP, versions: [VERSION], preferredVersion: VERSION } as const;

/** `/apis/stonegate.dev` */
export const OWN_GROUP_DOCUMENT = { kind: 'APIGroup', apiVersion: 'v1', ...OWN_API_GROUP } as const;

/** `/apis/stonegate.dev/v1alpha1` */
export function ownResourceList(resources: readonly OwnResource[]): APIResourceList {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: OWN_API_VERSION,
    resources: resources.map(({ name, namespaced, kind, verbs, shortNames }) => ({
      name,
      singularName: kind.toLowerCase(),
      namespaced,
      kind,
      verbs,
      ...(shortNames && { shortNames }),
    })),
  };
}

/** The group in `apidiscovery.k8s.io` v2 and v2beta1, which write it alike. */
function aggregatedGroup(resources: readonly OwnResource[]): object {
  return {
    metadata: { name: OWN_GROUP, creationTimestamp: null },
    versions: [
      {
        version: OWN_VERSION,
        resources: resources.map(({ name, namespaced, kind, verbs, shortNames }) => ({
          resource: name,
          responseKind: { group: OWN_GROUP, version: OWN_VERSION, kind },
          scope: namespaced ? 'Namespaced' : 'Cluster',
          singularResource: kind.toLowerCase(),
          verbs,
          ...(shortNames && { shortNames }),
        })),
        freshness: 'Current',
      },
    ],
  };
}

export interface OwnDocuments {
  readonly resources: readonly OwnResource[];
  /** The version of the own OpenAPI document, as clients name it in the query. */
  readonly openAPIHash: string;
}

/**
 * An APIGroupList, an APIGroupDiscoveryList or the index of OpenAPI v3 with the own group in it. A group of
 * that name is left out: what the API server has below it is never requested.
 *
 * @returns undefined if the document is none of these
 */
export function withOwnGroup(document: unknown, own: OwnDocuments): JSONObject | undefined {
  if (!isJSONObject(document)) return undefined;
  const { kind, paths } = document;
  const [groups, items] = [goList(document.groups), goList(document.items)];
  if (kind === 'APIGroupList' && groups) return withOwnAPIGroup({ ...document, groups });
  if (kind === 'APIGroupDiscoveryList' && items) {
    const nameIn = (item: unknown) => (isJSONObject(item) ? nameOf(item.metadata) : undefined);
    return { ...document, items: withOwn(items, aggregatedGroup(own.resources), nameIn) };
  }
  if (kind === undefined && isJSONObject(paths)) return { ...document, paths: withOwnPath(paths, own) };
  return undefined;
}

export function withOwnAPIGroup<T extends { readonly groups: readonly unknown[] }>(list: T) {
  return { ...list, groups: withOwn(list.groups, OWN_API_GROUP, nameOf) };
}

/**
 * The own group is the last one, but before that of Stonegate's stored objects: of two resources with one
 * name kubectl takes the first, and users may read the own one alone.
 */
function withOwn(groups: readonly unknown[], own: object, nameIn: (group: unknown) => unknown): unknown[] {
  const others = groups.filter((group) => nameIn(group) !== OWN_GROUP);
  const stored = others.findIndex((group) => nameIn(group) === STORED_GROUP);
  return others.toSpliced(stored === -1 ? others.length : stored, 0, own);
}

function withOwnPath(paths: JSONObject, { openAPIHash }: OwnDocuments): JSONObject {
  const prefix = `apis/${OWN_GROUP}`;
  const others = Object.entries(paths).filter(([path]) => path !== prefix && !path.startsWith(`${prefix}/`));
  return {
    ...Object.fromEntries(others),
    [`apis/${OWN_API_VERSION}`]: { serverRelativeURL: `${OWN_OPENAPI_PATH}?hash=${openAPIHash}` },
  };
}

function nameOf(group: unknown): unknown {
  return isJSONObject(group) ? group.name : undefined;
}
