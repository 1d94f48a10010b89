/**
 * The connections and caches that the features of a generation share.
 */
import type { Build } from '../config/build.ts';
import type { FeatureBuild } from '../features/build.ts';
import { createShared } from './cache.ts';
import { createKeystone } from './keystone.ts';
import { createOwnUpstream, createServedProvisioningUpstream } from './upstream.ts';

export function withBackends(build: Build): FeatureBuild {
  const { keystone } = build.loaded.configuration.authentication;
  return {
    ...build,
    upstream: createOwnUpstream(build),
    provisioningUpstream: createServedProvisioningUpstream(build),
    shared: createShared(build),
    keystone: keystone && createKeystone(build, keystone),
  };
}
