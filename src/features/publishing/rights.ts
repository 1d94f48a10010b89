/**
 * The rights that publishing needs in addition to those of provisioning: on each published kind, and, to read
 * what is published where, on tenants and namespaces. `escalate` and `bind` are not among them: the publisher
 * holds what published roles grant.
 */
import { NAMESPACED_KINDS } from '../../kubernetes/published-objects.ts';
import { type ProvisionerRight, rule } from '../../kubernetes/right.ts';

const READ = 'get list watch';
const verbs = [...READ.split(' '), 'create', 'update', 'delete'];
/** The kinds without a namespace, as they are written, and as they are read. */
const CLUSTER_SCOPED = ['publishing.clusterScoped.*.resource', 'publishing.clusterScoped.*.kind'];

export const PUBLISHING_RIGHTS: readonly ProvisionerRight[] = [
  { when: ['publishing', 'hasTenantsInPaths'], rule: rule('', 'tenants namespaces', READ) },
  { when: ['publishing', 'hasTenantsInPaths'], rule: rule('', 'namespaces', 'create') },
  { when: ['publishing', '!hasTenantsInPaths'], rule: rule('', 'namespaces', READ) },
  {
    when: ['publishing.namespaces'],
    kinds: NAMESPACED_KINDS,
    kindsAt: ['publishing.kinds.*', ...CLUSTER_SCOPED],
    verbs,
  },
  {
    when: ['publishing', '!publishing.namespaces'],
    kinds: [],
    kindsAt: CLUSTER_SCOPED,
    verbs,
  },
  { when: ['publishing'], grants: true },
];
