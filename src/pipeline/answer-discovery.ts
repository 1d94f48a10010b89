/**
 * Answers requests for discovery documents from `discovery-documents.ts`.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import { headerValues } from '../lib/header-list.ts';
import { isHealth } from '../tenancy/discovery-paths.ts';
import type { Answerer } from './answerer.ts';
import type { DiscoveryRoute } from './discovery-document.ts';
import type { DiscoveryDocuments } from './discovery-documents.ts';
import { discoveryForm } from './discovery-form.ts';
import type { UpstreamResponse } from './ports.ts';
import type { Outgoing } from './request-state.ts';

export function createDiscoveryAnswerer(documents: DiscoveryDocuments): Answerer {
  function answerDiscovery({ tenant, exchange }: Outgoing, route: DiscoveryRoute): Promise<UpstreamResponse> {
    const accept = isHealth(route.path)
      ? '*/*'
      : discoveryForm(route.path, headerValues(exchange.headers, 'accept').join());
    return documents.get(tenant, route, accept, exchange.signal);
  }

  return {
    answer: (outgoing) =>
      outgoing.route.kind === 'discovery' ? answerDiscovery(outgoing, outgoing.route) : undefined,
  };
}
