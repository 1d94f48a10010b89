/**
 * Discovery documents, computed from the kinds: the groups, versions and resources that a tenant sees.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#discovery-api
 */
import { createHash } from 'node:crypto';
import type { Cluster } from './cluster.ts';
import type { JsonObject } from './json.ts';
import type { Kind } from './kinds.ts';

/** `/api`. */
export function coreVersions(address: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

/** `/apis`. */
export function groupList(cluster: Cluster, tenant: string): JsonObject {
  const groups = cluster.groups(tenant).filter(({ name }) => name !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => describeGroup(group)) };
}

/** `/apis/G`; undefined if the tenant sees no such group. */
export function group(cluster: Cluster, tenant: string, name: string): JsonObject | undefined {
  const found = cluster.groups(tenant).find((one) => one.name === name && name !== '');
  return found === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(found) };
}

function describeGroup({ name, versions }: { name: string; versions: readonly string[] }): JsonObject {
  const described = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: described, preferredVersion: described[0] };
}

/** `/api/v1` and `/apis/G/V`; undefined if the tenant sees no such version. */
export function resourceList(
  cluster: Cluster,
  tenant: string,
  name: string,
  version: string,
): JsonObject | undefined {
  const kinds = cluster
    .discoveredKinds(tenant)
    .filter((kind) => kind.group === name && kind.versions.includes(version));
  if (kinds.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(name === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: name === '' ? version : `${name}/${version}`,
    resources: kinds.flatMap((kind) => describeKind(kind, version, cluster.flavour === 'arktos')),
  };
}

function describeKind(kind: Kind, version: string, saysTenanted: boolean): JsonObject[] {
  const namespaced = kind.scope === 'namespaced';
  const tenanted = saysTenanted ? { tenanted: kind.tenanted } : {};
  const isStored = kind.verbs.includes('watch');
  const hash = createHash('sha256').update(`${kind.group}/${version}/${kind.kind}`).digest().subarray(0, 8);
  return [
    {
      name: kind.resource,
      singularName: kind.singular,
      namespaced,
      kind: kind.kind,
      verbs: [...kind.verbs],
      ...(kind.shortNames.length === 0 ? {} : { shortNames: [...kind.shortNames] }),
      ...(kind.categories.length === 0 ? {} : { categories: [...kind.categories] }),
      ...(isStored ? { storageVersionHash: hash.toString('base64') } : {}),
      ...tenanted,
    },
    ...kind.subresources.map((sub) => ({
      name: `${kind.resource}/${sub.name}`,
      singularName: '',
      namespaced,
      ...(sub.group === undefined ? {} : { group: sub.group }),
      ...(sub.version === undefined ? {} : { version: sub.version }),
      kind: sub.kind,
      verbs: [...sub.verbs],
      ...tenanted,
    })),
  ];
}
