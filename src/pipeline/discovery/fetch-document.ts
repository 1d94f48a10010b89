/**
 * Fetches a discovery document as Stonegate itself, on the account of the tenant for which it is.
 */
import type { TenantName } from '../../api/identity.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../ports.ts';
import { type DiscoveryRoute, refusedRights, relayedHeaders } from './discovery-document.ts';

/** One form of one document. */
export interface DocumentRequest {
  readonly tenant: TenantName;
  readonly route: DiscoveryRoute;
  /** One of a small, fixed number per path. */
  readonly accept: string;
}

/** @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential */
export async function fetchDocument(
  fetcher: UpstreamFetcher,
  { tenant, route: { path, query }, accept }: DocumentRequest,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const { status, headers, body } = await fetcher.fetch(
    {
      account: { kind: 'tenant', tenant },
      sender: { kind: 'stonegate' },
      method: 'GET',
      target: query === '' ? path : `${path}?${query}`,
      headers: [['Accept', accept]],
    },
    signal,
  );
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403) throw refusedRights();
  return { status, headers: relayedHeaders(headers), body };
}
