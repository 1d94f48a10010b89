/**
 * What an explanation warns of beside the stages: a resource or namespace that does not exist, since RBAC
 * decides about such requests too, and an index that does not count at the moment.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { accountOf, actingTenant } from '../../proxy/acting-tenant.ts';
import type { DiscoveredResources } from '../../proxy/discovered-resources.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

export interface WarningsOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  readonly discovered: Pick<DiscoveredResources, 'resource'>;
  /** Absent without the RBAC index. */
  readonly access?: AccessIndex | undefined;
}

/** @returns sentences without a full stop; none if a backend cannot be asked */
export type WarningsOn = (outgoing: Outgoing) => Promise<readonly string[]>;

export function createWarnings(options: WarningsOptions): WarningsOn {
  return async (outgoing) => {
    const { info, route } = outgoing;
    if (!info.isResourceRequest || route.kind !== 'forward') return [];
    const found = [
      await unknownResource(outgoing, info, options),
      missingNamespace(outgoing, info, options),
      unusedIndex(outgoing, info, options),
    ];
    return found.filter((warning) => warning !== undefined);
  };
}

async function unknownResource(
  outgoing: Outgoing,
  { apiGroup: group, apiVersion: version, resource }: ResourceRequest,
  { discovered }: WarningsOptions,
): Promise<string | undefined> {
  try {
    const groupVersion = { group, version };
    const { signal } = outgoing.exchange;
    const tenant = actingTenant(outgoing);
    const found = await discovered.resource(tenant, groupVersion, resource, signal, accountOf(outgoing));
    if (found !== undefined) return undefined;
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return `the API server has no resource ${JSON.stringify(resource)} in ${groupVersion}: a request that is allowed is a 404`;
}

/** Only a complete index knows that there is none. */
function missingNamespace(
  outgoing: Outgoing,
  { namespace, tenant: named }: ResourceRequest,
  { mode, access }: WarningsOptions,
): string | undefined {
  const inTenant = named === '' ? (mode.reviewTenant(actingTenant(outgoing)) ?? '') : named;
  if (namespace === '' || access?.state(inTenant) !== 'current') return undefined;
  if (access.index.objectsOf(inTenant).namespaces.has(namespace)) return undefined;
  return `there is no namespace ${JSON.stringify(namespace)}`;
}

/** Warns about lists and watches that are filtered if the API server refuses them. */
function unusedIndex(
  outgoing: Outgoing,
  { verb, apiGroup, resource, namespace, subresource }: ResourceRequest,
  { mode, access }: WarningsOptions,
): string | undefined {
  // Nothing is filtered for guests.
  if (outgoing.crossing !== undefined) return undefined;
  if (access === undefined || mode.isSystem(outgoing.tenant)) return undefined;
  if ((verb !== 'list' && verb !== 'watch') || subresource !== '') return undefined;
  const isNamespaces = apiGroup === '' && resource === 'namespaces';
  if (!isNamespaces && namespace !== '') return undefined;
  const tenant = mode.reviewTenant(outgoing.tenant) ?? '';
  if (access.state(tenant) === 'current') return undefined;
  const incompleteReason = access.incompleteReason(tenant, 'all');
  return (
    incompleteReason &&
    `nothing is filtered at the moment, since the RBAC index is not used: ${incompleteReason}`
  );
}
