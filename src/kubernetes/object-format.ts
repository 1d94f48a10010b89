/**
 * Paths of objects of any kind, and what every object has that the API server returns. Unknown fields are
 * preserved, so that an update removes nothing. Arktos has a tenant in each path.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 */
import { z } from 'zod';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import {
  type NamedObjectMeta,
  type Place,
  type PolicyRule,
  policyRuleSchema,
  type ResourceKind,
  type StoredObject,
} from './kubernetes-object.ts';
import { MalformedObject } from './list-watch.ts';

/** @returns with every part escaped, so that no name changes the path */
export function collectionPath({ group, version, resource }: ResourceKind, place: Place): string {
  const root = group === '' ? ['/api', version] : ['/apis', segment(group), version];
  const tenant = place.tenant === undefined ? [] : ['tenants', segment(place.tenant)];
  const namespace = place.namespace === undefined ? [] : ['namespaces', segment(place.namespace)];
  return [...root, ...tenant, ...namespace, segment(resource)].join('/');
}

export function objectPath(kind: ResourceKind, place: Place, name: string): string {
  return `${collectionPath(kind, place)}/${segment(name)}`;
}

/** A dot segment cannot be escaped: a server may resolve it in any spelling. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new RangeError('this can be no part of a path');
  // A colon is valid in a segment (RFC 3986 §3.3) and occurs in role names.
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

const optionalText = z.string().exactOptional();
const textMap = z.record(z.string(), z.string());

const metadataSchema = z.looseObject({
  name: z.string().min(1),
  tenant: optionalText,
  namespace: optionalText,
  uid: optionalText,
  resourceVersion: optionalText,
  deletionTimestamp: optionalText,
  creationTimestamp: z.string().nullable().exactOptional(),
  labels: textMap.exactOptional(),
  annotations: textMap.exactOptional(),
  finalizers: z.array(z.string()).exactOptional(),
  ownerReferences: z.array(z.unknown()).exactOptional(),
});

export function isMeta(value: unknown): value is NamedObjectMeta & JSONObject {
  return metadataSchema.safeParse(value).success;
}

/** @returns no field for what is no object */
export function metadataOf(value: unknown): JSONObject {
  return isJSONObject(value) && isJSONObject(value.metadata) ? value.metadata : {};
}

/**
 * @param itemKind the kind of a list's items, which do not contain it
 * @throws MalformedObject if it is no object of the kind
 */
export function storedObject(
  value: unknown,
  { group, version, resource }: ResourceKind,
  itemKind?: string,
): StoredObject {
  if (!isJSONObject(value)) throw new MalformedObject(`an item of ${resource} is no object`);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const { kind = itemKind, metadata } = value;
  if (typeof kind !== 'string' || (value.apiVersion ?? apiVersion) !== apiVersion)
    throw new MalformedObject(`an object that should be of ${resource} is of another kind`);
  if (!isMeta(metadata)) throw new MalformedObject(`an object of ${resource} has no metadata`);
  return { ...value, apiVersion, kind, metadata };
}

/** @returns undefined for what is no ClusterRole */
export function clusterRoleIn(value: unknown): { name: string; rules: readonly PolicyRule[] } | undefined {
  if (!isJSONObject(value) || !isMeta(value.metadata)) return undefined;
  if (value.kind !== undefined && value.kind !== 'ClusterRole') return undefined;
  // Go omits an empty list, or writes null.
  const { data: rules } = z.array(policyRuleSchema).safeParse(value.rules ?? []);
  return rules && { name: value.metadata.name, rules };
}
