/**
 * Who can do something: ResourceAccessReviews and LocalResourceAccessReviews. Names come from Keystone if
 * Stonegate has a service credential there.
 */

import type { Feature } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { withoutIndex } from '../rbac-index/feature.ts';
import { createWhoCanHandler } from './handle-who-can.ts';
import { createKeystoneNames } from './keystone-names.ts';
import { WHO_CAN_RESOURCES } from './who-can-v1alpha1.ts';

export { createKeystoneNames, type KeystoneNames, knownScopes } from './keystone-names.ts';

/**
 * @param access undefined if the configuration has no RBAC index
 * @param ownUserName of Stonegate's own credential, which may act as any user; undefined if it is unknown
 */
export function createWhoCan(
  { runtime: { clock }, keystone }: FeatureBuild,
  parts: ProxyParts,
  access: AccessIndex | undefined,
  ownUserName: string | undefined,
): Feature {
  if (access === undefined) return withoutIndex(Object.values(WHO_CAN_RESOURCES));
  const directory = keystone?.client.directory;
  const options = {
    ...parts,
    ...parts.ownBodies,
    access,
    ownUserName,
    ...(directory && { keystone: createKeystoneNames({ directory, clock }) }),
  };
  return {
    ownResources: (['ResourceAccessReview', 'LocalResourceAccessReview'] as const).map((kind) => ({
      ...WHO_CAN_RESOURCES[kind],
      handle: createWhoCanHandler(kind, options),
    })),
  };
}
