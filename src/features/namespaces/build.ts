/**
 * Filtered namespaces: users who may not list all namespaces get those that they may `get`, from the RBAC
 * index. See docs/access.md.
 */

import { ComponentType } from '../../config/component.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { ProxyBuild } from '../build.ts';
import type { SharedIndex } from '../rbac-index/feature.ts';
import { CreatedNamespaces } from './created-namespaces.ts';
import type { NamespacesParts } from './feature.ts';
import { createFilteredNamespaces, type FilteredNamespaces } from './handle-namespaces.ts';
import type { NamespacesMemory } from './namespaces-request.ts';
import { VisibleNamespacesCache } from './visible-namespaces.ts';

const MEMORY = new ComponentType<NamespacesMemory>('visible namespaces');

/** @returns undefined if the configuration filters no lists */
export function createNamespaces(
  { parts: { filtering }, scope, ...build }: ProxyBuild<NamespacesParts>,
  index: SharedIndex,
): (Feature & Pick<FilteredNamespaces, 'wouldFilter'>) | undefined {
  if (filtering === 'off') return undefined;
  const memory = scope.derived(MEMORY, [index.component, index.changes], ([{ tracked }, changes]) => ({
    views: new VisibleNamespacesCache(tracked.index, changes),
    created: new CreatedNamespaces(),
  }));
  const othersMayAllow = filtering === 'othersMayAllow';
  const { handle, hook, wouldFilter } = createFilteredNamespaces({
    ...build,
    ...index,
    memory,
    othersMayAllow,
  });
  return { handlers: { namespaces: handle }, responseHooks: [hook], wouldFilter };
}
