/**
 * Paths of objects of any kind, and what every object has that the API server returns. Unknown fields are
 * preserved, so that an update removes nothing. Arktos has a tenant in each path.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
 */
import { z } from 'zod';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import {
  type NamedObjectMeta,
  type PolicyRule,
  policyRuleSchema,
  type ResourceKind,
} from './kubernetes-object.ts';
import { unusable } from './object-response.ts';
import type { Place, StoredMeta, StoredObject } from './reconcile/objects.ts';

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

/**
 * @param listed the kind of a list's members, which do not contain it
 * @throws StatusError UpstreamUnavailable for what is no object of the kind
 */
export function storedObject(
  value: unknown,
  { group, version, resource }: ResourceKind,
  listed: string | undefined,
): StoredObject {
  if (!isJSONObject(value)) throw unusable(new Error(`a member of ${resource} is no object`));
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const { kind = listed, metadata } = value;
  if (typeof kind !== 'string' || (value.apiVersion ?? apiVersion) !== apiVersion)
    throw unusable(new Error(`an object that should be of ${resource} is of another kind`));
  if (!isMeta(metadata) || !isStoredMeta(metadata))
    throw unusable(new Error(`an object of ${resource} has no metadata`));
  return { ...value, apiVersion, kind, metadata };
}

export function isMeta(value: unknown): value is NamedObjectMeta & JSONObject {
  if (!isJSONObject(value) || typeof value.name !== 'string' || value.name === '') return false;
  const { tenant, namespace, uid, resourceVersion, deletionTimestamp, creationTimestamp } = value;
  const texts = [tenant, namespace, uid, resourceVersion, deletionTimestamp, creationTimestamp ?? undefined];
  return (
    texts.every((text) => text === undefined || typeof text === 'string') &&
    [value.labels, value.annotations].every((map) => map === undefined || isTextMap(map))
  );
}

function isStoredMeta(metadata: NamedObjectMeta & JSONObject): metadata is StoredMeta & JSONObject {
  const { finalizers, ownerReferences } = metadata;
  return (
    (finalizers === undefined || isTexts(finalizers)) &&
    (ownerReferences === undefined || Array.isArray(ownerReferences))
  );
}

function isTextMap(value: unknown): boolean {
  return isJSONObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** @returns undefined for what is no ClusterRole */
export function clusterRoleIn(value: unknown): { name: string; rules: readonly PolicyRule[] } | undefined {
  if (!isJSONObject(value) || !isMeta(value.metadata)) return undefined;
  if (value.kind !== undefined && value.kind !== 'ClusterRole') return undefined;
  // Go omits an empty list, or writes null.
  const { data: rules } = z.array(policyRuleSchema).safeParse(value.rules ?? []);
  return rules && { name: value.metadata.name, rules };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
