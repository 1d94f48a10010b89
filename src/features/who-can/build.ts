/**
 * Who can do something: ResourceAccessReviews and LocalResourceAccessReviews. Names come from Keystone if
 * Stonegate has a service credential there.
 */

import type { Feature } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { ProxyBuild } from '../build.ts';
import { createWhoCanHandler } from './handle-who-can.ts';
import type { KeystoneNames } from './keystone-names.ts';
import { WHO_CAN_RESOURCES } from './who-can-v1alpha1.ts';

export { createKeystoneNames } from './keystone-names.ts';

/**
 * @param access undefined if the configuration has no RBAC index
 * @param keystone undefined without a service credential at Keystone
 * @param ownUserName of Stonegate's own credential, which may act as any user; undefined if it is unknown
 */
export function createWhoCan(
  build: ProxyBuild,
  access: AccessIndex | undefined,
  keystone: KeystoneNames | undefined,
  ownUserName: string | undefined,
): Feature {
  if (access === undefined) return {};
  const options = { ...build, ...build.ownBodies, access, ownUserName, keystone };
  return {
    ownResources: (['ResourceAccessReview', 'LocalResourceAccessReview'] as const).map((kind) => ({
      ...WHO_CAN_RESOURCES[kind],
      handle: createWhoCanHandler(kind, options),
    })),
  };
}
