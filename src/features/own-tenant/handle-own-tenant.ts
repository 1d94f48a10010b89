/**
 * Answers `kubectl get tenants` of a user of a tenant with the tenant's own Tenant object, reduced. Arktos
 * shows tenants to users of the system tenant alone, so it is fetched as Stonegate itself, by a path in which
 * nothing is the client's. See docs/access.md.
 */
import type { DocumentCache } from '../../cache/document-cache.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { asFiltered } from '../../proxy/response/own-responses.ts';
import { answerSingleObject } from '../../proxy/response/single-object.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import { TENANT } from './tenant-object.ts';

export interface OwnTenantOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep responses with status 200 only. */
  readonly cache: DocumentCache<UpstreamResponse>;
  readonly clock: Clock;
}

export function createOwnTenantHandler({
  fetcher,
  cache,
  clock,
}: OwnTenantOptions): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { form, path: target } = routeAs(outgoing, 'own-tenant');
    const kind = {
      ...TENANT,
      fetch: (tenant: typeof outgoing.tenant, signal: AbortSignal) =>
        cache.get({ owner: tenant, key: target, reusable: true }, signal, (ended) =>
          fetcher.fetch({ ...ownGet(target), account: { kind: 'tenant', tenant } }, ended),
        ),
    };
    const name = form === 'list' ? '' : outgoing.tenant;
    return asFiltered(await answerSingleObject(outgoing, name, kind, clock.now()));
  };
}
