/**
 * Answers requests for discovery with the documents of the user's tenant.
 */
import { headerValues } from '../../lib/header-list.ts';
import { isHealth } from '../../tenancy/discovery-paths.ts';
import type { Answerer } from '../delivery.ts';
import type { UpstreamResponse } from '../ports.ts';
import { discoveryForm } from './discovery-document.ts';
import type { DiscoveryDocuments } from './discovery-documents.ts';

export function createDiscoveryAnswerer(documents: DiscoveryDocuments): Answerer<UpstreamResponse> {
  return {
    answer({ route, tenant, exchange }) {
      if (route.kind !== 'discovery') return undefined;
      const accepted = headerValues(exchange.headers, 'accept').join();
      const accept = isHealth(route.path) ? '*/*' : discoveryForm(route.path, accepted);
      return documents.get(tenant, route, accept, exchange.signal);
    },
  };
}
