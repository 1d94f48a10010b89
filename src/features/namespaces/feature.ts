/**
 * Filtered namespaces: users who may not list all namespaces get those that they may `get`, from the RBAC
 * index. See docs/access.md.
 */

import { ComponentType } from '../../config/component.ts';
import { filteringMode } from '../../kubernetes/authorization-mode.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { fingerprintOfIndex, type IndexParts } from '../rbac-index/feature.ts';
import { CreatedNamespaces } from './created-namespaces.ts';
import { createFilteredNamespaces, type FilteredNamespaces } from './handle-namespaces.ts';
import type { NamespacesMemory } from './namespaces-request.ts';
import { VisibleNamespacesCache } from './visible-namespaces.ts';

const MEMORY = new ComponentType<NamespacesMemory>('visible namespaces');

/** @returns undefined if the configuration filters no lists */
export function createNamespaces(
  build: FeatureBuild,
  parts: ProxyParts,
  index: IndexParts,
): (Feature & Pick<FilteredNamespaces, 'wouldFilter'>) | undefined {
  const filtering = filteringMode(build.loaded.configuration.access);
  if (filtering === 'off') return undefined;
  const memory = build.generation.component(MEMORY, {
    fingerprint: fingerprintOfIndex(build),
    create: () => ({
      views: new VisibleNamespacesCache(index.access.index, index.changes),
      created: new CreatedNamespaces(),
    }),
  });
  const othersMayAllow = filtering === 'othersMayAllow';
  const { handle, hook, wouldFilter } = createFilteredNamespaces({
    ...parts,
    ...index,
    memory,
    othersMayAllow,
  });
  return { handlers: { namespaces: handle }, responseHooks: [hook], wouldFilter };
}
