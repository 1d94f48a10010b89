/**
 * Who can do something: ResourceAccessReviews and LocalResourceAccessReviews. Names come from Keystone if
 * Stonegate has a service credential there.
 */

import type { Feature } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import type { FeatureBuild, Parts } from '../build.ts';
import { createWhoCanHandler } from './handle-who-can.ts';
import { createKeystoneNames } from './keystone-names.ts';

/** @param ownUserName of Stonegate's own credential, which may act as any user; undefined if it is unknown */
export function createWhoCan(
  { runtime: { clock }, keystone }: FeatureBuild,
  parts: Parts,
  access: AccessIndex,
  ownUserName: string | undefined,
): Feature {
  const directory = keystone?.client.directory;
  const options = {
    ...parts,
    ...parts.ownBodies,
    access,
    ownUserName,
    ...(directory && { keystone: createKeystoneNames({ directory, clock }) }),
  };
  return {
    handlers: {
      resourceaccessreviews: createWhoCanHandler('ResourceAccessReview', options),
      localresourceaccessreviews: createWhoCanHandler('LocalResourceAccessReview', options),
    },
  };
}
