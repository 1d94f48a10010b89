/**
 * Lists and watches of all namespaces for users who may have them in some namespaces only. See
 * docs/access.md.
 */

import { ComponentType } from '../../config/component.ts';
import type { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { WouldMerge } from '../../proxy/filtered-reason.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import type { IndexParts } from '../rbac-index/feature.ts';
import type { AllNamespacesParts } from './feature.ts';
import { createMergedNamespaces } from './handle-all-namespaces.ts';
import { createMergeTurns } from './merge-memory.ts';

const TURNS = new ComponentType<KeyedSemaphore>('turns of large lists');

/** @returns undefined if the configuration filters no lists */
export function createAllNamespaces(
  { parts: { filtering, maxNamespaces }, scope, runtime }: FeatureBuild<AllNamespacesParts>,
  parts: ProxyParts,
  index: IndexParts,
): (Feature & { readonly wouldMerge: WouldMerge }) | undefined {
  if (filtering === 'off') return undefined;
  const { handle, wouldMerge } = createMergedNamespaces({
    ...runtime,
    ...parts,
    ...index,
    othersMayAllow: filtering === 'othersMayAllow',
    fetcher: parts.upstream,
    streamer: parts.upstream,
    discovered: parts.discovery.resources,
    maxNamespaces,
    memory: parts.responseMemory,
    turns: scope.derived(TURNS, [], () => createMergeTurns(parts.clock)),
  });
  return { handlers: { 'all-namespaces': handle }, wouldMerge };
}
