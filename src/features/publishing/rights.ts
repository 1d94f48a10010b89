/**
 * The rights that publishing needs in addition to those of provisioning: on each published kind, and, to read
 * what is published where, on tenants and namespaces.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { NAMESPACED_KINDS } from '../../kubernetes/published-objects.ts';
import { grantableRules } from '../../rbac/grantable-rules.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import type { PublishingConfiguration } from './publishing-configuration.ts';

const READ = ['get', 'list', 'watch'];
/** The verbs that the publisher needs on the kinds that are published. */
export const PUBLISHED_VERBS: readonly string[] = [...READ, 'create', 'update', 'delete'];

export interface PublishingNeeds {
  readonly configuration: PublishingConfiguration;
  /** `access.grantable`: what published roles may grant beside the rules of `stonegate:manage`. */
  readonly grantable: readonly PolicyRule[];
}

/** @returns rules without `escalate` and `bind`: the publisher holds what published roles grant. */
export function publishingRules(
  { hasTenantsInPaths }: TenancyFacts,
  { configuration: { namespaces, clusterScoped, kinds }, grantable }: PublishingNeeds,
): PolicyRule[] {
  const namespaced = namespaces.length === 0 ? [] : [...NAMESPACED_KINDS, ...kinds];
  const all = [...namespaced, ...clusterScoped.map(({ kind }) => kind)];
  const byGroup = Map.groupBy(all, ({ group }) => group);
  const scopes = hasTenantsInPaths ? ['tenants', 'namespaces'] : ['namespaces'];
  return [
    { apiGroups: [''], resources: scopes, verbs: READ },
    ...(hasTenantsInPaths ? [{ apiGroups: [''], resources: ['namespaces'], verbs: ['create'] }] : []),
    ...[...byGroup].map(([group, members]) => ({
      apiGroups: [group],
      resources: [...new Set(members.map(({ resource }) => resource))].sort(),
      verbs: PUBLISHED_VERBS,
    })),
    ...grantableRules(grantable),
  ];
}
