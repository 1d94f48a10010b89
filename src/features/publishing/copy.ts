/**
 * The copy of a source in one place, and how it compares with what is there. Pure. It carries nothing of the
 * source's metadata but its name and the labels and annotations that have a meaning elsewhere.
 */

import {
  isBindingKind,
  KINDS,
  type NamedObjectMeta,
  objectKey,
  type Place,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel } from '../../kubernetes/managed-labels.ts';
import { type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import type { Comparison, Desired, Target } from '../../kubernetes/reconcile/plan.ts';
import { isEqual } from '../../lib/json-equal.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { fieldsOf, roleKey, subjectsIn } from './content.ts';
import { isReceiver, type Receiver } from './receivers.ts';
import { copyMetadata, type Source, sourceOfCopy } from './source.ts';

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

/** A desired copy. */
export class Copy implements Desired {
  readonly source: Source;
  readonly place: Place;
  readonly object: StoredObject;
  /** The receiver as it was when it was selected. */
  readonly #receiver: Receiver;

  constructor(source: Source, place: Place, receiver: Receiver) {
    const { object, content } = source;
    const subjects = 'roleRef' in content ? { subjects: subjectsIn(object, place.namespace) } : {};
    this.source = source;
    this.place = place;
    this.#receiver = receiver;
    this.object = {
      ...content,
      ...subjects,
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: {
        name: object.metadata.name,
        ...(place.namespace !== undefined && { namespace: place.namespace }),
        ...metadataOf(source),
      },
    };
  }

  get kind(): PublishedKind {
    return this.source.kind;
  }

  get reason(): string {
    return this.source.title;
  }

  /** A binding is not written without its role, and nothing without its namespace. */
  get requires(): readonly string[] {
    const { tenant, namespace } = this.place;
    const role = roleKey(this.source.object, this.place);
    return [
      ...(role === undefined ? [] : [role]),
      ...(tenant !== undefined && namespace !== undefined
        ? [objectKey(KINDS.Namespace, { tenant }, namespace)]
        : []),
    ];
  }

  /** Since it was selected, the receiver may have been deleted and made again, or have other labels. */
  get target(): Target {
    const receiver = this.#receiver;
    const { tenant, namespace = '' } = receiver.place;
    const name = tenant ?? namespace;
    return {
      kind: tenant === undefined ? KINDS.Namespace : KINDS.Tenant,
      place: {},
      name,
      problem: (found) =>
        isReceiver(receiver, found) ? undefined : `${name} has changed since it was selected`,
    };
  }

  compare(existing: StoredObject | undefined): Comparison {
    const { source, object } = this;
    if (existing === undefined) return { action: 'create', object };
    const { kind, systemFirst, namespace } = source;
    if (existing.metadata.deletionTimestamp !== undefined) return { refused: 'it is being deleted' };
    const candidates = namespace === undefined ? [] : [namespace];
    const isCopy = sourceOfCopy(kind, existing, candidates) !== undefined;
    if (!isCopy && hasManagedLabel(existing.metadata))
      return { refused: 'it is there and belongs to Stonegate, as no copy' };
    if (!isCopy && !systemFirst) return { refused: 'it is there and no copy: it is not overwritten' };
    if (isCopy && isSame(kind, object, existing)) return { action: 'none' };
    if (kind.resource === 'customresourcedefinitions' && scopeOf(object) !== scopeOf(existing))
      return { refused: 'it has another scope, and its custom resources would be deleted' };
    if (mustBeReplaced(kind, object, existing))
      return { action: 'update', object, replaces: identityOf(existing) };
    return { action: 'update', object: updated(kind, object, existing) };
  }
}

/** The metadata that all copies of a source share. */
const metadataOf = memoizeByReference(({ object, title }: Source) => {
  const { labels, annotations } = object.metadata;
  const copyMarkers = copyMetadata(title);
  return {
    labels: { ...carried(labels), ...copyMarkers.labels },
    annotations: { ...carried(annotations), ...copyMarkers.annotations },
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

/** The object without its content, which may be large. */
export function identityOf({ apiVersion, kind, metadata }: StoredObject): StoredObject {
  const { managedFields: _managers, ...rest }: NamedObjectMeta & { readonly managedFields?: unknown } =
    metadata;
  return { apiVersion, kind, metadata: rest };
}

function isSame(kind: PublishedKind, wanted: StoredObject, existing: StoredObject): boolean {
  const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = existing.metadata;
  return (
    isEqual(labels, wanted.metadata.labels ?? {}) &&
    isEqual(annotations, wanted.metadata.annotations ?? {}) &&
    finalizers.every((name) => name === DEFINITION_FINALIZER) &&
    ownerReferences.length === 0 &&
    isEqual(fieldsOf(kind, wanted), fieldsOf(kind, existing))
  );
}

/** Whether no update can make the existing object the wanted one: then it is replaced. */
function mustBeReplaced(kind: PublishedKind, wanted: StoredObject, existing: StoredObject): boolean {
  const isDifferent = (field: string) => !isEqual(wanted[field] ?? null, existing[field] ?? null);
  if (isBindingKind(kind)) return isDifferent('roleRef');
  if (!['secrets', 'configmaps'].includes(resourceName(kind))) return false;
  const isImmutable = existing.immutable === true;
  return isDifferent('type') || (isImmutable && !isEqual(fieldsOf(kind, wanted), fieldsOf(kind, existing)));
}

function scopeOf({ spec }: StoredObject): unknown {
  return typeof spec === 'object' && spec !== null && 'scope' in spec ? spec.scope : undefined;
}

/** What the API server and its controllers have set remains; owners and finalizers do not. */
function updated(kind: PublishedKind, wanted: StoredObject, existing: StoredObject): StoredObject {
  const {
    ownerReferences: _owners,
    managedFields: _managers,
    finalizers = [],
    ...metadata
  }: NamedObjectMeta & { readonly managedFields?: unknown } = existing.metadata;
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
