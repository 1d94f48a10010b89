/**
 * The connections and caches that the features of a generation share, and what each feature is built from.
 */
import { type Parts, scopeOf } from '../config/scope.ts';
import type { FeatureBuild } from '../features/build.ts';
import type { FilesAndSecrets } from '../features/define-feature.ts';
import { tenancySettings } from '../features/tenancy-settings.ts';
import { createTenancyMode } from '../tenancy/create-tenancy-mode.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { type ConnectedBuild, createShared } from './cache.ts';
import type { StonegateBuild, StonegateConfiguration } from './configuration.ts';
import { createKeystone, followRevocations } from './keystone.ts';
import { createUpstreams, type Upstreams } from './upstream.ts';

export interface AppBuild extends ConnectedBuild, Upstreams {
  /** Whether a command only explains a request: nothing is written. */
  readonly explains: boolean;
  /** The tenancy mode of the configuration, without what features add to users. */
  readonly mode: TenancyMode;
  /** Gives a feature the backends, its scope, and the parts that it reads. */
  buildFor<P extends Parts>(feature: Reads<P>): FeatureBuild<P>;
}

/** A feature that is built from these parts of the configuration. */
export interface Reads<P extends Parts> {
  reads(configuration: StonegateConfiguration, loaded: FilesAndSecrets): P;
}

export function withBackends(build: StonegateBuild, explains = false): AppBuild {
  const { loaded, runtime, generation } = build;
  const { configuration } = loaded;
  const shared = createShared(build);
  const keystone = createKeystone(build);
  followRevocations(build, keystone, shared);
  const backends = { ...createUpstreams(build), shared, keystone };
  const common = { ...backends, runtime, explains, scope: scopeOf(generation) };
  return {
    ...build,
    ...backends,
    explains,
    mode: createTenancyMode(tenancySettings(configuration)),
    buildFor: (feature) => ({ ...common, parts: feature.reads(configuration, loaded) }),
  };
}
