/**
 * The version of an API group that clients use, from the tenant's discovery.
 */

import { JSON_TYPE } from '../../kubernetes/meta-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { discoveryPath, discoveryQuery } from '../../tenancy/discovery-paths.ts';
import { readGroup } from '../../tenancy/reduce-discovery.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { documentOf } from './discovery-document.ts';
import type { DiscoveryDocuments } from './discovery-documents.ts';

/**
 * @param group as a client sent it
 * @returns undefined if the tenant has no such group
 * @throws StatusError as `DiscoveryDocuments.get` does; UpstreamUnavailable if the group cannot be read
 */
export async function preferredVersion(
  tenant: TenantName,
  group: string,
  discovered: Pick<DiscoveryDocuments, 'get'>,
  { readsTenantFromPath }: Pick<TenancyMode, 'readsTenantFromPath'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (group === '') return 'v1';
  const path = `/apis/${group}`;
  const reduce = discoveryPath(path)?.reduce;
  if (reduce !== 'group') return undefined;
  const query = discoveryQuery(path, '', readsTenantFromPath ? tenant : undefined);
  const response = await discovered.get(
    tenant,
    { kind: 'discovery', path, query, reduce },
    JSON_TYPE,
    signal,
  );
  if (response.status !== 200) return undefined;
  return documentOf(response, readGroup).preferredVersion?.version;
}
