/**
 * Objects of any kind, as publishing reads and writes them with the provisioning credential. Members of a
 * list have neither kind nor version: those of the list say them.
 */
import { type PublishedKind, resourceName } from '../api/published-objects.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { isJSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { Place, PublishedObject, PublishedObjects } from '../publishing/ports.ts';
import { metaOf, segment } from './cluster-object-format.ts';
import { unusable } from './cluster-object-response.ts';
import { ObjectRequests } from './object-requests.ts';

export function createPublishedObjects(fetcher: UpstreamFetcher): PublishedObjects {
  const requests = new ObjectRequests(fetcher, STONEGATE_ACCOUNT);
  return {
    async list(kind, place, labelSelector, signal, read) {
      const path = publishedPath(kind, place);
      return requests.list(path, labelSelector, signal, (item, listKind) => {
        const [, listed] = /^(\w+)List$/.exec(String(listKind)) ?? [];
        return read(readPublished(item, kind, listed));
      });
    },
    async get(kind, place, name, signal) {
      const object = await requests.get(`${publishedPath(kind, place)}/${segment(name)}`, signal);
      return object && readPublished(object, kind, undefined);
    },
    create: (kind, place, object, signal) => requests.create(publishedPath(kind, place), object, signal),
    update: (kind, place, object, signal) => requests.update(pathOf(kind, place, object), object, signal),
    delete: (kind, place, object, signal) => requests.delete(pathOf(kind, place, object), object, signal),
  };
}

/** @returns the path of the list, with every part escaped */
export function publishedPath({ group, version, resource }: PublishedKind, place: Place): string {
  const root = group === '' ? ['/api', version] : ['/apis', segment(group), version];
  const tenant = place.tenant === undefined ? [] : ['tenants', segment(place.tenant)];
  const namespace = place.namespace === undefined ? [] : ['namespaces', segment(place.namespace)];
  return [...root, ...tenant, ...namespace, segment(resource)].join('/');
}

function pathOf(kind: PublishedKind, place: Place, { metadata }: PublishedObject): string {
  return `${publishedPath(kind, place)}/${segment(metadata.name)}`;
}

/** @param listed the kind of a list's members */
function readPublished(value: unknown, kind: PublishedKind, listed: string | undefined): PublishedObject {
  if (!isJSONObject(value)) throw unusable(new Error(`a member of ${resourceName(kind)} is no object`));
  const { group, version } = kind;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const name = value.kind ?? listed;
  if (typeof name !== 'string' || (value.apiVersion ?? apiVersion) !== apiVersion)
    throw unusable(new Error(`what should be of ${resourceName(kind)} is of another kind`));
  return { ...value, apiVersion, kind: name, metadata: publishedMeta(value.metadata) };
}

function publishedMeta(value: unknown): PublishedObject['metadata'] {
  let metadata: ReturnType<typeof metaOf>;
  try {
    metadata = metaOf(value);
  } catch (cause) {
    throw unusable(cause);
  }
  if (isPublishedMeta(metadata)) return metadata;
  throw unusable(new Error('metadata is none'));
}

function isPublishedMeta(value: object): value is PublishedObject['metadata'] {
  const {
    tenant,
    finalizers,
    ownerReferences,
  }: { tenant?: unknown; finalizers?: unknown; ownerReferences?: unknown } = value;
  return (
    (tenant === undefined || typeof tenant === 'string') &&
    (finalizers === undefined ||
      (Array.isArray(finalizers) && finalizers.every((one) => typeof one === 'string'))) &&
    (ownerReferences === undefined || Array.isArray(ownerReferences))
  );
}
