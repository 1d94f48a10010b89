/**
 * Lists and watches of all namespaces for users who may have them in some namespaces only. See
 * docs/access.md.
 */

import { ComponentType } from '../../config/component.ts';
import type { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { WouldMerge } from '../../proxy/filtered-reason.ts';
import type { ProxyBuild } from '../build.ts';
import type { SharedIndex } from '../rbac-index/feature.ts';
import type { AllNamespacesParts } from './feature.ts';
import { createMergedNamespaces } from './handle-all-namespaces.ts';
import { createMergeTurns } from './merge-memory.ts';

const TURNS = new ComponentType<KeyedSemaphore>('turns of large lists');

/** @returns undefined if the configuration filters no lists */
export function createAllNamespaces(
  { parts: { filtering, maxNamespaces }, scope, runtime, ...build }: ProxyBuild<AllNamespacesParts>,
  index: SharedIndex,
): (Feature & { readonly wouldMerge: WouldMerge }) | undefined {
  if (filtering === 'off') return undefined;
  const { handle, wouldMerge } = createMergedNamespaces({
    ...runtime,
    ...build,
    ...index,
    othersMayAllow: filtering === 'othersMayAllow',
    fetcher: build.upstream,
    streamer: build.upstream,
    discovered: build.discovery.resources,
    maxNamespaces,
    memory: build.responseMemory,
    turns: scope.derived(TURNS, [], () => createMergeTurns(runtime.clock)),
  });
  return { handlers: { 'all-namespaces': handle }, wouldMerge };
}
