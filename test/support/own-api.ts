/** Stonegate’s own API with the resources of all features. */
import {
  ACCESS_RULES_REVIEWS,
  SELF_ACCESS_RULES,
} from '../../src/features/access-rules/access-rules-v1alpha1.ts';
import { createExplainFeature } from '../../src/features/explain/build.ts';
import { WHO_CAN_RESOURCES } from '../../src/features/who-can/who-can-v1alpha1.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { RouteHandler, RouteHandlers } from '../../src/proxy/feature.ts';
import { createOwnAPI, type OwnAPI, type OwnResource } from '../../src/proxy/own-api.ts';
import { routeAs } from '../../src/proxy/route-kind.ts';

const { ownResources: OF_EVERYONE = [] } = createExplainFeature(
  async () => Promise.reject(new Error('nothing is explained here')),
  { clock: systemClock, limits: { bodyBytes: 0, bodyTimeout: 0 } },
  () => undefined,
);
const OF_INDEX = [...Object.values(WHO_CAN_RESOURCES), SELF_ACCESS_RULES, ACCESS_RULES_REVIEWS];

/** @param index whether the RBAC index is configured */
export function ownResources(index = true): readonly OwnResource[] {
  const unavailable = "need the RBAC index, which Stonegate's operator turns on with access.index";
  return [...OF_EVERYONE, ...OF_INDEX.map((one) => (index ? one : { ...one, unavailable }))];
}

export function ownAPIOf(index = true): OwnAPI {
  return createOwnAPI(ownResources(index));
}

/** The handler of Stonegate's own API. @param handlers by the name of the resource */
export function ownAPIHandler(handlers: Readonly<Record<string, RouteHandler>>): RouteHandlers {
  return {
    async 'own-api'(outgoing) {
      return handlers[routeAs(outgoing, 'own-api').resource]?.(outgoing);
    },
  };
}
