/**
 * Answers `kubectl get tenants` of a user of an Arktos tenant with the tenant's own Tenant object, reduced to
 * its name, its phase and how old it is. Arktos shows tenants to users of the system tenant alone, so it is
 * fetched as Stonegate itself, by a path in which nothing is the client's. See docs/access.md.
 */
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnObject } from '../../proxy/response/own-objects.ts';
import { asFiltered } from '../../proxy/response/own-responses.ts';
import { answerSingleObject, type SingleObjectKind } from '../../proxy/response/single-object.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { Discovery, ProxyBuild } from '../build.ts';

interface TenantSummary extends OwnObject {
  /** `Active` or `Terminating`. */
  readonly status: { readonly phase: string };
}

const TENANT: Omit<SingleObjectKind<TenantSummary>, 'fetch'> = {
  apiVersion: 'v1',
  kind: 'Tenant',
  name: 'tenants',
  columns: [['Status', 'The status of the tenant', ({ status }) => status.phase]],
  phase: ({ status }) => status.phase,
  read({ status }, metadata) {
    const { phase } = isJSONObject(status) ? status : {};
    return { metadata, spec: {}, status: { phase: typeof phase === 'string' ? phase : '' } };
  },
};

export interface OwnTenantParts extends Pick<ProxyBuild, 'clock'> {
  readonly discovery: Pick<Discovery, 'cache'>;
  readonly upstream: UpstreamFetcher;
}

export function createOwnTenant({ clock, discovery, upstream }: OwnTenantParts) {
  return {
    handlers: {
      async 'own-tenant'(outgoing) {
        const { path: target } = routeAs(outgoing, 'own-tenant');
        const kind = {
          ...TENANT,
          fetch: (tenant: TenantName, signal: AbortSignal) =>
            discovery.cache.get({ owner: tenant, key: target, reusable: true }, signal, (ended) =>
              upstream.fetch({ ...ownGet(target), account: { kind: 'tenant', tenant } }, ended),
            ),
        };
        const name = outgoing.info.verb === 'list' ? '' : outgoing.tenant;
        return asFiltered(await answerSingleObject(outgoing, name, kind, clock.now()));
      },
    },
  } satisfies Feature;
}
