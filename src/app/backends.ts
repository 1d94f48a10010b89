/**
 * The connections and caches that the features of a generation share.
 */
import type { Build } from '../config/build.ts';
import type { FeatureBuild } from '../features/build.ts';
import { createShared } from './cache.ts';
import { createKeystone, followRevocations } from './keystone.ts';
import { createOwnUpstream, createProvisioningUpstream } from './upstream.ts';

export function withBackends(build: Build): FeatureBuild {
  const { keystone: configuration } = build.loaded.configuration.authentication;
  const shared = createShared(build);
  const keystone = configuration && createKeystone(build, configuration);
  if (configuration && keystone) followRevocations(build, configuration, keystone, shared);
  return {
    ...build,
    upstream: createOwnUpstream(build),
    provisioningUpstream: createProvisioningUpstream(build),
    shared,
    keystone,
  };
}
