/**
 * How a copy is known: by a label with a digest of its source's kind, namespace and name. The name of the
 * copy is part of it, so that an object with a copy's labels under another name is none.
 */
import { createHash } from 'node:crypto';
import type { StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import {
  PUBLISHED_FROM,
  PUBLISHED_SOURCE,
  type PublishedKind,
  resourceName,
} from '../../kubernetes/published-objects.ts';

const DIGITS = 40;

/** What a source is called: `secrets/NAMESPACE/NAME`, `clusterroles.rbac.authorization.k8s.io/NAME`. */
export function sourceName(kind: PublishedKind, namespace: string | undefined, name: string): string {
  return [resourceName(kind), ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

/** The label and the annotation of each copy of the source. */
export function marksOf(source: string) {
  return {
    labels: { [MANAGED_BY]: STONEGATE, [PUBLISHED_FROM]: digest(source) },
    annotations: { [PUBLISHED_SOURCE]: source },
  };
}

/** Selects all copies, and what only looks like one. */
export const COPIES = `${MANAGED_BY}=${STONEGATE},${PUBLISHED_FROM}`;

/**
 * @param namespaces in which the source may be, if the annotation does not say it
 * @returns the namespace of the source, if the object is a copy; undefined if it is none
 */
export function sourceOfCopy(
  kind: PublishedKind,
  object: StoredObject,
  namespaces: readonly string[],
): { readonly namespace?: string } | undefined {
  const { name, labels = {}, annotations = {} } = object.metadata;
  const mark = labels[PUBLISHED_FROM];
  if (!hasManagedLabel(object.metadata) || mark === undefined) return undefined;
  if (!kind.namespaced) return digest(sourceName(kind, undefined, name)) === mark ? {} : undefined;
  const [resource, stated, ...rest] = annotations[PUBLISHED_SOURCE]?.split('/') ?? [];
  const isStated = resource === resourceName(kind) && stated !== undefined && rest.join('/') === name;
  const candidates = [...(isStated ? [stated] : []), ...namespaces];
  const namespace = candidates.find((one) => digest(sourceName(kind, one, name)) === mark);
  return namespace === undefined ? undefined : { namespace };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGITS);
}
