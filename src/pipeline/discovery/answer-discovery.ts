/**
 * Answers requests for discovery with the documents of the tenant in which it is made.
 */
import { accountOf, actingTenant } from '../../authorization/acting-tenant.ts';
import { headerValues } from '../../lib/header-list.ts';
import { isHealth } from '../../tenancy/discovery-paths.ts';
import type { Answerer } from '../delivery.ts';
import type { UpstreamResponse } from '../ports.ts';
import { discoveryForm } from './discovery-document.ts';
import type { DiscoveryDocuments } from './discovery-documents.ts';

export function createDiscoveryAnswerer(documents: DiscoveryDocuments): Answerer<UpstreamResponse> {
  return {
    servesGuests: true,
    answer(outgoing) {
      const { route, exchange } = outgoing;
      if (route.kind !== 'discovery') return undefined;
      const accepted = headerValues(exchange.headers, 'accept').join();
      const accept = isHealth(route.path) ? '*/*' : discoveryForm(route.path, accepted);
      return documents.get(actingTenant(outgoing), route, accept, exchange.signal, accountOf(outgoing));
    },
  };
}
