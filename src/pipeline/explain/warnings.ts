/**
 * What an explanation warns of beside the stages: a resource or namespace that does not exist, since RBAC
 * decides about such requests too, and an index that does not count at the moment.
 */
import { doubtAboutIndex, type RulesTrust } from '../../access/incomplete-rules.ts';
import type { ResourceRequest } from '../../api/request-info.ts';
import { accountOf, actingTenant } from '../../authorization/acting-tenant.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { DiscoveryDocuments } from '../discovery/discovery-documents.ts';
import type { AccessSubjects } from '../rbac/access-subject.ts';
import type { Outgoing } from '../request-context.ts';

export interface WarningsOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  readonly discovered: Pick<DiscoveryDocuments, 'resource'>;
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
  /** Absent without the RBAC index. */
  readonly trust?: Pick<RulesTrust, 'access'> | undefined;
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
      await unusedIndex(outgoing, info, options),
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
  { mode, trust }: WarningsOptions,
): string | undefined {
  if (namespace === '' || trust?.access.state() !== 'current') return undefined;
  const { index } = trust.access;
  const inTenant = named === '' ? (mode.reviewTenant(actingTenant(outgoing)) ?? '') : named;
  if (index.partialOwners > 0 || index.objectsOf(inTenant).namespaces.has(namespace)) return undefined;
  return `there is no namespace ${JSON.stringify(namespace)}`;
}

/** Of lists and watches that are filtered if the API server refuses them. */
async function unusedIndex(
  outgoing: Outgoing,
  { verb, apiGroup, resource, namespace, subresource }: ResourceRequest,
  { mode, subjects, trust }: WarningsOptions,
): Promise<string | undefined> {
  // Nothing is filtered for guests.
  if (outgoing.crossing !== undefined) return undefined;
  if (trust === undefined || mode.isSystem(outgoing.tenant)) return undefined;
  if ((verb !== 'list' && verb !== 'watch') || subresource !== '') return undefined;
  const isNamespaces = apiGroup === '' && resource === 'namespaces';
  if (!isNamespaces && namespace !== '') return undefined;
  const doubt = doubtAboutIndex(await subjects.subjectOf(outgoing), trust);
  return doubt && `nothing is filtered at the moment, since the RBAC index does not count: ${doubt}`;
}
