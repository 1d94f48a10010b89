/**
 * The annotations and labels of published objects and their copies, and the kinds that can be published. The
 * publisher, the admission webhook and the configuration share them; docs/publishing.md explains them.
 */
import type { ResourceKind } from './kubernetes-object.ts';

/** Annotation of a source: which tenants get a copy. */
export const PUBLISHED = 'multi-tenancy.k8s.io/published';
/** Annotation of a source: what becomes of a tenant's own object of the same name. */
export const PUBLISHED_POLICY = 'multi-tenancy.k8s.io/published-policy';

/** Label of a copy: a digest of its source's kind, namespace and name. */
export const PUBLISHED_FROM = 'stonegate.dev/published-from';
/** Annotation of a copy: the source, `customresourcedefinitions.apiextensions.k8s.io/NAME`. */
export const PUBLISHED_SOURCE = 'stonegate.dev/published-source';

/** A kind of which objects may be published. */
export type PublishedKind = ResourceKind;

const RBAC = 'rbac.authorization.k8s.io';

/** Published wherever `publishing.namespaces` has them. */
export const NAMESPACED_KINDS: readonly PublishedKind[] = [
  namespaced('', 'v1', 'configmaps'),
  namespaced('', 'v1', 'limitranges'),
  namespaced('', 'v1', 'resourcequotas'),
  namespaced('', 'v1', 'secrets'),
  namespaced('', 'v1', 'serviceaccounts'),
  namespaced('networking.k8s.io', 'v1', 'networkpolicies'),
  namespaced(RBAC, 'v1', 'roles'),
  namespaced(RBAC, 'v1', 'rolebindings'),
];

/**
 * What `publishing.clusterScoped` names by the resource alone. Arktos accepts definitions of `v1beta1` that
 * have no schema, and could not store them as `v1`.
 */
export const TENANT_KINDS: readonly PublishedKind[] = [
  { group: RBAC, version: 'v1', resource: 'clusterroles', namespaced: false },
  { group: RBAC, version: 'v1', resource: 'clusterrolebindings', namespaced: false },
  {
    group: 'apiextensions.k8s.io',
    version: 'v1beta1',
    resource: 'customresourcedefinitions',
    namespaced: false,
  },
];

/** Their objects change how the API server itself works, or are no stored objects, or are Stonegate's. */
export const UNPUBLISHED_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'events.k8s.io',
  'stonegate.dev',
  'tenancy.stonegate.dev',
]);
/** Resources of the core group that are never published. */
export const UNPUBLISHED_RESOURCES: ReadonlySet<string> = new Set([
  'bindings',
  'endpoints',
  'events',
  'namespaces',
  'nodes',
  'tenants',
]);

/** @returns why no object of the kind can be published, continuing "which …"; undefined if they can */
export function kindProblem({ group, resource }: Pick<PublishedKind, 'group' | 'resource'>) {
  if (UNPUBLISHED_GROUPS.has(group))
    return `belongs to the group ${group}, whose objects are never published`;
  if (group === '' && UNPUBLISHED_RESOURCES.has(resource)) return 'is never published';
  return undefined;
}

/**
 * All kinds of which there may be published objects and copies, whichever are configured by name.
 *
 * @param publishing undefined if nothing is published
 */
/** Which kinds are published, of the section `publishing`. */
export type PublishedSelection = {
  readonly kinds: readonly PublishedKind[];
  readonly clusterScoped: readonly { readonly kind: PublishedKind }[];
};

export function publishedKindsOf(publishing: PublishedSelection | undefined): readonly PublishedKind[] {
  if (publishing === undefined) return [];
  const { kinds, clusterScoped } = publishing;
  const all = [...NAMESPACED_KINDS, ...TENANT_KINDS, ...kinds, ...clusterScoped.map(({ kind }) => kind)];
  return [...new Map(all.map((kind) => [resourceName(kind), kind])).values()];
}

/** @returns as kubectl names a resource: `secrets`, `roles.rbac.authorization.k8s.io` */
export function resourceName({ group, resource }: Pick<PublishedKind, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function namespaced(group: string, version: string, resource: string): PublishedKind {
  return { group, version, resource, namespaced: true };
}
