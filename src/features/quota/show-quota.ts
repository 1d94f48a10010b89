/**
 * Shows users the quota of their tenant: in Stonegate's own API, and on a page of the portal. The stored
 * TenantQuota is read as Stonegate itself, and its reservations, whose UIDs are the operator's, are shown as
 * a sum.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import { objectPath } from '../../kubernetes/object-format.ts';
import { textsAs } from '../../kubernetes/resource-quota/usage.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnObjectMeta } from '../../proxy/response/own-objects.ts';
import {
  answerSingleObject,
  fetchSingleObject,
  type SingleObjectKind,
} from '../../proxy/response/single-object.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { ProxyParts } from '../build.ts';
import { OWN_QUOTAS, quotaSummary, type ShownQuota } from './own-quota-v1alpha1.ts';
import { quotaPage } from './quota-page.ts';
import { ledgerOf } from './stored-ledger.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';

/** A page of the portal is made even if its browser is gone. */
const NEVER = new AbortController().signal;

/** @param place of the TenantQuotas; undefined without the section `quota` */
export function createShownQuotas(
  place: Place | undefined,
  { mode, upstream, clock }: Pick<ProxyParts, 'mode' | 'clock'> & { readonly upstream: UpstreamFetcher },
): Feature {
  if (place === undefined) return {};
  const kind = quotaKind(place, upstream);
  return {
    ownResources: [
      {
        ...OWN_QUOTAS,
        async handle(outgoing) {
          if (mode.isSystem(outgoing.tenant))
            throw new StatusError(
              'NotFound',
              'the system tenant has no quota: the quotas of all tenants are tenantquotas.tenancy.stonegate.dev',
            );
          const { name } = routeAs(outgoing, 'own-api');
          return answerSingleObject(outgoing, name, kind, clock.now());
        },
      },
    ],
    pages: [
      quotaPage(async (identity) => {
        const tenant = mode.tenantOf(identity);
        return mode.isSystem(tenant) ? undefined : fetchSingleObject(kind, tenant, NEVER);
      }),
    ],
  };
}

function quotaKind(place: Place, upstream: UpstreamFetcher): SingleObjectKind<ShownQuota> {
  return {
    ...OWN_QUOTAS,
    columns: [['Used', 'What is used of what the tenant may use', quotaSummary]],
    read(object, metadata) {
      const stored = readTenantQuota(object);
      return stored && shownQuota(stored, metadata);
    },
    fetch: (tenant, signal) =>
      upstream.fetch(
        { ...ownGet(objectPath(TENANT_QUOTAS, place, tenant)), account: { kind: 'tenant', tenant } },
        signal,
      ),
  };
}

function shownQuota(stored: TenantQuota, metadata: OwnObjectMeta): ShownQuota {
  const {
    spec: { hard },
    status: { used, conditions = [] },
  } = stored;
  const reserved = textsAs(hard, ledgerOf(stored).reserved);
  const problems = conditions.filter(({ status }) => status === 'False');
  return {
    metadata,
    spec: { hard },
    status: {
      ...(used && { used }),
      ...(Object.keys(reserved).length > 0 && { reserved }),
      ...(problems.length > 0 && { conditions: problems }),
    },
  };
}
