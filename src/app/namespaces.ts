/**
 * What answers lists and watches of namespaces, for a configuration with the RBAC index.
 */
import type { AccessIndex } from '../access/ports.ts';
import type { Verifier } from '../access/verification.ts';
import { isRBACAlone } from '../api/authorization-mode.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import {
  createNamespacesAnswerer,
  type NamespacesAnswerer,
} from '../pipeline/namespaces/answer-namespaces.ts';
import { createNamespacesMemory, type NamespacesMemory } from '../pipeline/namespaces/request.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import type { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { createTokenSealer } from './all-namespaces.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import { fingerprintOfIndex } from './rbac-index.ts';

const MEMORY = new ComponentType<NamespacesMemory>('visible namespaces', {});

export interface ConfiguredNamespacesOptions {
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly mode: TenancyMode;
  readonly reviewer: AccessReviewer;
  readonly responseMemory: ResponseMemory;
  readonly lifetimes: WatchLifetimes;
}

export function createConfiguredNamespaces(
  build: Build,
  { reviewer, ...options }: ConfiguredNamespacesOptions,
): NamespacesAnswerer {
  const { generation, loaded, runtime } = build;
  const { access } = loaded.configuration;
  return createNamespacesAnswerer({
    ...runtime,
    ...options,
    // As long as the index.
    memory: generation.component(MEMORY, {
      fingerprint: fingerprintOfIndex(build),
      create: () => createNamespacesMemory(options.access, runtime.clock, runtime.random),
    }),
    reviewer: isRBACAlone(access.authorizers) ? undefined : reviewer,
    sealer: createTokenSealer(build),
  });
}
