/**
 * Builds the RBAC index of this process, and what the features share that answer from it.
 */
import { ComponentType, RUNS } from '../../config/component.ts';
import { READY_TIMEOUT } from '../../lib/readiness.ts';
import { AccessChanges } from '../../rbac/access-changes.ts';
import type { FeatureBuild, ProxyBuild } from '../build.ts';
import { createComponentWithInformers } from '../component-with-informers.ts';
import { watchLifetimesOf } from '../watch-lifetimes.ts';
import type { RbacIndexParts } from './feature.ts';
import { type BuiltIndex, IndexComponent, type SharedIndex } from './index-component.ts';
import { Verifier } from './verifier.ts';

const RBAC_INDEX = new ComponentType<IndexComponent>('RBAC index', RUNS);

/**
 * @param startedAt of the process: a reload that turns the index on makes no process unready
 * @returns undefined if the configuration has no index
 */
export function createAccessIndex(
  { parts, scope, runtime, upstream }: FeatureBuild<RbacIndexParts>,
  startedAt: number,
): BuiltIndex | undefined {
  if (parts.index === undefined) return undefined;
  const component = createComponentWithInformers(
    scope,
    RBAC_INDEX,
    parts.index,
    upstream,
    ({ inTenants, systemTenant, maxBytes }) =>
      new IndexComponent({ ...runtime, upstream, inTenants, systemTenant, maxBytes }),
  );
  const access = component.tracked;
  const { clock } = runtime;
  return {
    component,
    access,
    readiness: {
      name: 'rbac index',
      notReadyBecause: () =>
        clock.now() - startedAt < READY_TIMEOUT && access.state('') === 'notSynced'
          ? access.incompleteReason('', 'all')
          : undefined,
    },
  };
}

const CHANGES = new ComponentType<AccessChanges>('changes of access');
const VERIFIER = new ComponentType<Verifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** One for each generation: call it once. */
export function createSharedIndex(
  { parts, scope, runtime, mode, reviewer }: ProxyBuild<RbacIndexParts>,
  { component, access }: BuiltIndex,
): SharedIndex {
  const { index } = access;
  const inTenants = mode.facts.hasTenantsInPaths;
  return {
    component,
    access,
    changes: scope.derived(
      CHANGES,
      [component],
      ([{ tracked }]) => new AccessChanges(tracked.index, runtime.clock),
    ),
    verifier: scope.perGeneration(
      VERIFIER,
      [],
      () => new Verifier({ ...runtime, ...parts.verifier, index, reviewer, inTenants }),
    ),
    lifetimes: watchLifetimesOf(scope, runtime),
  };
}
