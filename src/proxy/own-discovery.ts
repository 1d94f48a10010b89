/**
 * Stonegate's own group in discovery: its own documents, and the API server's lists of groups with it. A list
 * that cannot be parsed stays as it is.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import type { APIResourceList } from '../kubernetes/meta-v1.ts';
import { goList, isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { OWN_GROUP, OWN_OPENAPI_PATH, OWN_VERSION, type OwnResource } from './own-api.ts';

const GROUP_VERSION = `${OWN_GROUP}/${OWN_VERSION}`;
const VERSION = { groupVersion: GROUP_VERSION, version: OWN_VERSION };

/** The group as in an APIGroupList. */
const OWN_API_GROUP = { name: OWN_GROUP, versions: [VERSION], preferredVersion: VERSION } as const;

/** `/apis/stonegate.dev` */
export const OWN_GROUP_DOCUMENT = { kind: 'APIGroup', apiVersion: 'v1', ...OWN_API_GROUP } as const;

/** `/apis/stonegate.dev/v1alpha1` */
export function ownResourceList(resources: readonly OwnResource[]): APIResourceList {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: GROUP_VERSION,
    resources: resources.map(({ name, singularName, namespaced, kind, verbs }) => ({
      name,
      singularName,
      namespaced,
      kind,
      verbs,
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
        resources: resources.map(({ name, singularName, namespaced, kind, verbs }) => ({
          resource: name,
          responseKind: { group: OWN_GROUP, version: OWN_VERSION, kind },
          scope: namespaced ? 'Namespaced' : 'Cluster',
          singularResource: singularName,
          verbs,
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
    const others = items.filter((item) => !isJSONObject(item) || nameOf(item.metadata) !== OWN_GROUP);
    return { ...document, items: [...others, aggregatedGroup(own.resources)] };
  }
  if (kind === undefined && isJSONObject(paths)) return { ...document, paths: withOwnPath(paths, own) };
  return undefined;
}

export function withOwnAPIGroup<T extends { readonly groups: readonly unknown[] }>(list: T) {
  return { ...list, groups: [...list.groups.filter((group) => nameOf(group) !== OWN_GROUP), OWN_API_GROUP] };
}

function withOwnPath(paths: JSONObject, { openAPIHash }: OwnDocuments): JSONObject {
  const prefix = `apis/${OWN_GROUP}`;
  const others = Object.entries(paths).filter(([path]) => path !== prefix && !path.startsWith(`${prefix}/`));
  return {
    ...Object.fromEntries(others),
    [`apis/${GROUP_VERSION}`]: { serverRelativeURL: `${OWN_OPENAPI_PATH}?hash=${openAPIHash}` },
  };
}

function nameOf(group: unknown): unknown {
  return isJSONObject(group) ? group.name : undefined;
}
