/**
 * What answers lists and watches of all namespaces, for a configuration with the RBAC index.
 */
import type { AccessIndex } from '../access/ports.ts';
import type { Verifier } from '../access/verification.ts';
import { filteringMode } from '../api/authorization-mode.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import {
  type AllNamespacesAnswerer,
  createAllNamespacesAnswerer,
} from '../pipeline/all-namespaces/answer-all-namespaces.ts';
import type { DiscoveryDocuments } from '../pipeline/discovery/discovery-documents.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import type { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Build } from './build.ts';
import { namespacesMemory } from './namespaces.ts';
import { createOwnUpstream } from './upstream.ts';

export interface ConfiguredAllNamespacesOptions {
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly discovered: DiscoveryDocuments;
  readonly mode: TenancyMode;
  readonly responseMemory: ResponseMemory;
  readonly streams: Pick<StreamRegistry, 'widen'>;
  readonly lifetimes: WatchLifetimes;
}

export function createConfiguredAllNamespaces(
  build: Build,
  options: ConfiguredAllNamespacesOptions,
): AllNamespacesAnswerer {
  const upstream = createOwnUpstream(build);
  const { access } = build.loaded.configuration;
  return createAllNamespacesAnswerer({
    ...build.runtime,
    ...options,
    fetcher: upstream,
    streamer: upstream,
    othersMayAllow: filteringMode(access) === 'othersMayAllow',
    maxNamespaces: access.maxNamespaces,
    changes: namespacesMemory(build, options.access).changes,
    memory: options.responseMemory,
  });
}
