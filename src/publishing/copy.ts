/**
 * The copy of a source in one place, and how it compares with what is there. Pure. It carries nothing of the
 * source's metadata but its name and the labels and annotations that have a meaning elsewhere.
 */
import { hasManagedLabel } from '../api/managed-labels.ts';
import { PUBLISHED_FROM, type PublishedKind, resourceName } from '../api/published-objects.ts';
import { isEqual } from '../lib/json-equal.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { fieldsOf } from './content.ts';
import { marksOf, sourceOfCopy } from './marks.ts';
import type { Place, PublishedMeta, PublishedObject } from './ports.ts';
import { subjectsIn } from './rbac-objects.ts';
import type { Receiver } from './receivers.ts';
import type { Source } from './source.ts';

/** A desired copy. */
export interface Copy {
  readonly source: Source;
  readonly place: Place;
  /** As it was when it was selected. */
  readonly receiver: Receiver;
  readonly object: PublishedObject;
}

export type Comparison =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly object: PublishedObject }
  /** `object` has the metadata of the existing one. */
  | { readonly action: 'update'; readonly object: PublishedObject }
  /**
   * `existing`, of which only the identity is here, is deleted, since a field of it cannot be changed; then
   * `object` is created.
   */
  | { readonly action: 'replace'; readonly object: PublishedObject; readonly existing: PublishedObject }
  | { readonly conflict: string };

/** Their labels and annotations mean something for the source only, or are Stonegate's. */
const OWN_DOMAINS = [
  'stonegate.dev',
  'multi-tenancy.k8s.io',
  'arktos.futurewei.com',
  'kubectl.kubernetes.io',
  'meta.helm.sh',
  'argocd.argoproj.io',
  'rbac.authorization.k8s.io',
  'rbac.authorization.kubernetes.io',
];
const OWN_KEYS: ReadonlySet<string> = new Set(['app.kubernetes.io/instance', 'app.kubernetes.io/managed-by']);
/** Without it the custom resources of a deleted definition would remain. */
const DEFINITION_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** @param place of the copy */
export function copyOf(source: Source, place: Place, receiver: Receiver): Copy {
  const { object, content } = source;
  const subjects = 'roleRef' in content ? { subjects: subjectsIn(object, place.namespace) } : {};
  return {
    source,
    place,
    receiver,
    object: {
      ...content,
      ...subjects,
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: {
        name: object.metadata.name,
        ...(place.namespace !== undefined && { namespace: place.namespace }),
        ...metadataOf(source),
      },
    },
  };
}

/** Of every copy of the source. */
const metadataOf = memoizeByReference(({ object, title }: Source) => {
  const { labels, annotations } = object.metadata;
  const marks = marksOf(title);
  return {
    labels: { ...carried(labels), ...marks.labels },
    annotations: { ...carried(annotations), ...marks.annotations },
  };
});

function carried(map: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !OWN_KEYS.has(key) && !isOwnDomain(key)));
}

function isOwnDomain(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = key.slice(0, Math.max(0, slash));
  return OWN_DOMAINS.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** @param existing the object of that name in that place */
export function compareCopy({ source, object }: Copy, existing: PublishedObject | undefined): Comparison {
  if (existing === undefined) return { action: 'create', object };
  const { kind, systemFirst, namespace } = source;
  if (existing.metadata.deletionTimestamp !== undefined) return { conflict: 'it is being deleted' };
  const candidates = namespace === undefined ? [] : [namespace];
  const isCopy = hasMarksOf(object, existing) || sourceOfCopy(kind, existing, candidates) !== undefined;
  if (!isCopy && hasManagedLabel(existing.metadata))
    return { conflict: 'it is there and belongs to Stonegate, as no copy' };
  if (!isCopy && !systemFirst) return { conflict: 'it is there and no copy: it is not overwritten' };
  if (isCopy && isSame(kind, object, existing)) return { action: 'none' };
  const fixed = fixedField(kind, object, existing);
  if (fixed === 'scope')
    return { conflict: 'it has another scope, and its custom resources would be deleted' };
  if (fixed !== undefined) return { action: 'replace', object, existing: identityOf(existing) };
  return { action: 'update', object: updated(kind, object, existing) };
}

/** Without content, which may be large. */
export function identityOf({ apiVersion, kind, metadata }: PublishedObject): PublishedObject {
  const { managedFields: _managers, ...rest }: PublishedMeta & { readonly managedFields?: unknown } =
    metadata;
  return { apiVersion, kind, metadata: rest };
}

/** Of the same name, and so a copy; computing no digest. */
function hasMarksOf(copy: PublishedObject, existing: PublishedObject): boolean {
  return (
    hasManagedLabel(existing.metadata) &&
    existing.metadata.labels?.[PUBLISHED_FROM] === copy.metadata.labels?.[PUBLISHED_FROM]
  );
}

function isSame(kind: PublishedKind, wanted: PublishedObject, existing: PublishedObject): boolean {
  const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = existing.metadata;
  return (
    isEqual(labels, wanted.metadata.labels ?? {}) &&
    isEqual(annotations, wanted.metadata.annotations ?? {}) &&
    finalizers.every((name) => name === DEFINITION_FINALIZER) &&
    ownerReferences.length === 0 &&
    isEqual(fieldsOf(kind, wanted), fieldsOf(kind, existing))
  );
}

/** @returns the field that differs and that no update can change */
function fixedField(kind: PublishedKind, wanted: PublishedObject, existing: PublishedObject) {
  const isDifferent = (field: string) => !isEqual(wanted[field] ?? null, existing[field] ?? null);
  switch (resourceName(kind)) {
    case 'rolebindings.rbac.authorization.k8s.io':
    case 'clusterrolebindings.rbac.authorization.k8s.io':
      return isDifferent('roleRef') ? 'roleRef' : undefined;
    case 'secrets':
      if (isDifferent('type')) return 'type';
      return existing.immutable === true && isDifferentContent(kind, wanted, existing) ? 'data' : undefined;
    case 'configmaps':
      return existing.immutable === true && isDifferentContent(kind, wanted, existing) ? 'data' : undefined;
    case 'customresourcedefinitions.apiextensions.k8s.io':
      return scopeOf(wanted) === scopeOf(existing) ? undefined : 'scope';
    default:
      return undefined;
  }
}

function isDifferentContent(kind: PublishedKind, one: PublishedObject, other: PublishedObject): boolean {
  return !isEqual(fieldsOf(kind, one), fieldsOf(kind, other));
}

function scopeOf({ spec }: PublishedObject): unknown {
  return typeof spec === 'object' && spec !== null && 'scope' in spec ? spec.scope : undefined;
}

/** What the API server and its controllers have set remains; owners and finalizers do not. */
function updated(kind: PublishedKind, wanted: PublishedObject, existing: PublishedObject): PublishedObject {
  const {
    ownerReferences: _owners,
    managedFields: _managers,
    finalizers = [],
    ...metadata
  }: PublishedMeta & { readonly managedFields?: unknown } = existing.metadata;
  const cleanup = finalizers.filter((name) => name === DEFINITION_FINALIZER);
  const others = resourceName(kind) === 'serviceaccounts' ? { secrets: existing.secrets } : {};
  return {
    ...others,
    ...wanted,
    metadata: {
      ...metadata,
      ...(cleanup.length > 0 && { finalizers: cleanup }),
      labels: wanted.metadata.labels ?? {},
      annotations: wanted.metadata.annotations ?? {},
    },
  };
}
