/** Stonegate’s own API with the resources of `explain`, `who-can` and `access-rules`. */
import { accessRules } from '../../src/features/access-rules/feature.ts';
import { explain } from '../../src/features/explain/feature.ts';
import { whoCan } from '../../src/features/who-can/feature.ts';
import type { RouteHandler, RouteHandlers } from '../../src/proxy/feature.ts';
import { createOwnAPI, NEEDS_INDEX, type OwnAPI } from '../../src/proxy/own-api.ts';
import { routeAs } from '../../src/proxy/route-kind.ts';

export const OWN_RESOURCES = [explain, whoCan, accessRules].flatMap(({ ownResources = [] }) => ownResources);

/** @param index whether the RBAC index is configured */
export function ownAPIOf(index = true): OwnAPI {
  const served = OWN_RESOURCES.filter(({ needs }) => index || needs !== NEEDS_INDEX);
  return createOwnAPI(served, OWN_RESOURCES);
}

/** The handler of Stonegate's own API. @param handlers by the name of the resource */
export function ownAPIHandler(handlers: Readonly<Record<string, RouteHandler>>): RouteHandlers {
  return {
    async 'own-api'(outgoing) {
      return handlers[routeAs(outgoing, 'own-api').resource]?.(outgoing);
    },
  };
}
