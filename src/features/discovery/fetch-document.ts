/**
 * Fetches a discovery document as Stonegate itself, on the account of the tenant whose user asks.
 */

import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { type Account, ownGet } from '../../kubernetes/upstream-request.ts';
import { type DiscoveryRoute, refusedRights, relayedHeaders } from './discovery-document.ts';

/** The owner of the document, and the user who asks. */
export interface DocumentOwner {
  readonly tenant: TenantName;
  /** The tenant's own, or that of the guests who ask. */
  readonly account: Account;
}

/** One form of one document. */
export interface DocumentRequest extends DocumentOwner {
  readonly route: DiscoveryRoute;
  /** One of a small, fixed number per path. */
  readonly accept: string;
}

/** @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential */
export async function fetchDocument(
  fetcher: UpstreamFetcher,
  { account, route: { path, query }, accept }: DocumentRequest,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const { status, headers, body } = await fetcher.fetch(
    { ...ownGet(query === '' ? path : `${path}?${query}`, accept), account },
    signal,
  );
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403) throw refusedRights();
  return { status, headers: relayedHeaders(headers), body };
}
