/**
 * What answers lists and watches of namespaces, for a configuration with the RBAC index.
 */
import { AccessChanges } from '../access/access-changes.ts';
import { CreatedNamespaces } from '../access/namespaces/created-namespaces.ts';
import { VisibleNamespacesCache } from '../access/namespaces/visible-namespaces-cache.ts';
import type { AccessIndex } from '../access/ports.ts';
import type { Verifier } from '../access/verification.ts';
import { filteringMode } from '../api/authorization-mode.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import {
  createNamespacesAnswerer,
  type NamespacesAnswerer,
} from '../pipeline/namespaces/answer-namespaces.ts';
import type { NamespacesMemory } from '../pipeline/namespaces/request.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import type { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import { fingerprintOfIndex } from './rbac-index.ts';

const MEMORY = new ComponentType<NamespacesMemory>('visible namespaces', {});

export interface ConfiguredNamespacesOptions {
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly mode: TenancyMode;
  readonly responseMemory: ResponseMemory;
  readonly lifetimes: WatchLifetimes;
}

export function createConfiguredNamespaces(
  build: Build,
  options: ConfiguredNamespacesOptions,
): NamespacesAnswerer {
  const { loaded, runtime } = build;
  const { access } = loaded.configuration;
  return createNamespacesAnswerer({
    ...runtime,
    ...options,
    memory: namespacesMemory(build, options.access),
    othersMayAllow: filteringMode(access) === 'othersMayAllow',
  });
}

/** It lives as long as the index. */
export function namespacesMemory(build: Build, { index }: Pick<AccessIndex, 'index'>): NamespacesMemory {
  return build.generation.component(MEMORY, {
    fingerprint: fingerprintOfIndex(build),
    create() {
      const changes = new AccessChanges(index, build.runtime.clock);
      const views = new VisibleNamespacesCache(index, changes);
      return { changes, views, created: new CreatedNamespaces() };
    },
  });
}
