/**
 * Stonegate's own API group: its resources, which other features give, its documents in discovery, and the
 * rights that its calls need.
 */
import type { Feature, ServedResource } from '../../proxy/feature.ts';
import { noHandler, routeAs } from '../../proxy/route-kind.ts';
import { createOwnDiscoveryHandlers, type OwnDiscoveryOptions } from './handle-own-discovery.ts';
import { createOwnAPIRights, type OwnAPIRightsOptions } from './own-api-rights.ts';

export interface OwnAPIFeatureOptions extends OwnDiscoveryOptions, Omit<OwnAPIRightsOptions, 'resources'> {
  readonly served: readonly ServedResource[];
}

export function createOwnAPIFeature(options: OwnAPIFeatureOptions): Feature {
  const { served } = options;
  const handlers = new Map(served.map(({ name, handle }) => [name, handle]));
  return {
    authorizers: [createOwnAPIRights({ ...options, resources: served })],
    handlers: {
      ...createOwnDiscoveryHandlers(options),
      async 'own-api'(outgoing) {
        const handle = handlers.get(routeAs(outgoing, 'own-api').resource);
        if (handle === undefined) throw noHandler();
        return handle(outgoing);
      },
    },
  };
}
