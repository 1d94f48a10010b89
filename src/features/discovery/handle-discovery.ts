/**
 * Answers requests for discovery with the documents of the tenant in which it is made.
 */

import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { headerValues } from '../../lib/header-list.ts';
import { accountOf, actingTenant } from '../../proxy/acting-tenant.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import { isHealth } from '../../tenancy/discovery-paths.ts';
import { discoveryForm } from './discovery-document.ts';
import type { DiscoveryDocuments } from './discovery-documents.ts';

export function createDiscoveryHandler(
  documents: Pick<DiscoveryDocuments, 'get'>,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { headers, signal } = outgoing.exchange;
    const route = routeAs(outgoing, 'discovery');
    const accepted = headerValues(headers, 'accept').join();
    const accept = isHealth(route.path) ? '*/*' : discoveryForm(route.path, accepted);
    return documents.get(actingTenant(outgoing), route, accept, signal, accountOf(outgoing));
  };
}
