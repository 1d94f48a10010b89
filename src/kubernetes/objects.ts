/**
 * Objects of any kind at the API server, read and written with the provisioning credential. Lists are read
 * page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import { StatusError } from '../errors/status-error.ts';
import { type JSONObject, readJSONObject } from '../lib/json-object.ts';
import type { Place, ResourceKind, StoredObject, WrittenObject } from './kubernetes-object.ts';
import { acceptOf, listPages, MalformedObject, UnexpectedStatus } from './list-watch.ts';
import { JSON_TYPE } from './meta-v1.ts';
import { collectionPath, isMeta, metadataOf, objectPath, storedObject } from './object-format.ts';
import type { UpstreamFetcher, UpstreamResponse } from './upstream-ports.ts';
import type { Account } from './upstream-request.ts';

/** How often a list is read from the start. */
const ATTEMPTS = 3;

/**
 * Every function throws a StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential,
 * ProvisioningForbidden or ProvisioningRefused.
 */
export type Objects = ReturnType<typeof createObjects>;

/**
 * @param account charged for the requests: a tenant's for what a request of its user causes, so that it
 *   delays neither other tenants nor Stonegate's own controllers, leases and quota reviews
 */
export function createObjects(fetcher: UpstreamFetcher, account: Account) {
  async function ask(
    method: string,
    target: string,
    signal: AbortSignal,
    body?: object,
    accept: string = JSON_TYPE,
  ) {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetcher.fetch(
      {
        account,
        sender: { kind: 'stonegate' },
        method,
        target,
        headers: [['Accept', accept], ...(body ? [['Content-Type', type] as const] : [])],
        ...(body && { body: JSON.stringify(body) }),
      },
      signal,
    );
    if (response.status === 403 && !BY_ADMISSION.test(messageOf(response)))
      throw forbidden(response, `${method} ${target}`);
    return response;
  }

  return {
    /**
     * All objects of a kind, of all namespaces if `place` has none. A refusal or an incomplete response is
     * thrown, so that it never looks like an empty list.
     *
     * @param labelSelector as in the API; empty for all
     * @param read what is needed of an object: whole objects of all tenants may take much memory. It may be
     *   called again for the same object.
     */
    async list<T>(
      kind: ResourceKind,
      place: Place,
      labelSelector: string,
      signal: AbortSignal,
      read: (object: StoredObject) => T,
    ): Promise<readonly T[]> {
      const path = collectionPath(kind, place);
      const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`;
      const pages = async (query: string) => {
        const response = await ask('GET', `${path}?${query}${selector}`, signal);
        if (response.status === 200 || response.status === 410) return response;
        throw unexpected(response, `list ${path}`);
      };
      for (let attempt = 1; ; attempt += 1) {
        const found: T[] = [];
        try {
          for await (const { items, kind: listKind } of listPages(pages)) {
            const [, itemKind] = /^(\w+)List$/.exec(String(listKind)) ?? [];
            for (const { value } of items) found.push(read(parse(value, kind, itemKind)));
          }
          return found;
        } catch (error) {
          if (error instanceof MalformedObject) throw unusable(error);
          if (!(error instanceof UnexpectedStatus)) throw error;
          if (attempt === ATTEMPTS) throw unusable(new Error(`the list ${path} expired ${attempt} times`));
        }
      }
    },

    /** @returns undefined if there is none */
    async get(
      kind: ResourceKind,
      place: Place,
      name: string,
      signal: AbortSignal,
    ): Promise<StoredObject | undefined> {
      const path = objectPath(kind, place, name);
      const response = await ask('GET', path, signal);
      if (response.status === 404) return undefined;
      if (response.status !== 200) throw unexpected(response, `get ${path}`);
      return parse(readJSONObject(response.body), kind);
    },

    /**
     * @returns metadata alone, so that no content of a tenant's object is read; undefined if there is no
     * object
     */
    async getMetadata(
      kind: ResourceKind,
      place: Place,
      name: string,
      signal: AbortSignal,
    ): Promise<JSONObject | undefined> {
      const path = objectPath(kind, place, name);
      const response = await ask('GET', path, signal, undefined, acceptOf('PartialObjectMetadata', true));
      if (response.status === 404) return undefined;
      const metadata = metadataOf(readJSONObject(response.body));
      if (response.status !== 200 || !isMeta(metadata)) throw unexpected(response, `get ${path}`);
      return metadata;
    },

    /** @returns the object as it is stored now; `exists` if the name is taken */
    async create(
      kind: ResourceKind,
      place: Place,
      object: WrittenObject,
      signal: AbortSignal,
    ): Promise<StoredObject | 'exists'> {
      const path = collectionPath(kind, place);
      const response = await ask('POST', path, signal, object);
      if (response.status === 201) return parse(readJSONObject(response.body), kind);
      if (response.status === 409 && readJSONObject(response.body)?.reason === 'AlreadyExists')
        return 'exists';
      throw unexpected(response, `create ${path}`);
    },

    /**
     * @param object with the `resourceVersion` it was read with, so that a concurrent change wins
     * @param subresource `status`: everything but the status stays
     * @returns the object as it is stored now
     */
    async update(
      kind: ResourceKind,
      place: Place,
      object: WrittenObject,
      signal: AbortSignal,
      subresource?: 'status',
    ): Promise<StoredObject | 'conflict' | 'gone'> {
      const path = [
        objectPath(kind, place, object.metadata.name),
        ...(subresource ? [subresource] : []),
      ].join('/');
      return written(await ask('PUT', path, signal, object), kind, `update ${path}`);
    },

    /** @param object as it was read; preconditions (uid, resourceVersion) delete exactly that object */
    async delete(
      kind: ResourceKind,
      place: Place,
      { metadata: { name, uid, resourceVersion } }: WrittenObject,
      signal: AbortSignal,
    ): Promise<'deleted' | 'conflict' | 'gone'> {
      const path = objectPath(kind, place, name);
      if (uid === undefined) throw new TypeError('only what was read can be deleted');
      const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions };
      const response = await ask('DELETE', path, signal, options);
      return outcomeOf(response, `delete ${path}`) ?? 'deleted';
    },

    /**
     * Writes `status` alone, if the object has not changed since. Arktos has no apply patch, so it is a merge
     * patch (RFC 7396).
     *
     * @param object as it was read
     * @returns the object as it is stored now
     */
    async updateStatus(
      kind: ResourceKind,
      place: Place,
      { metadata: { name, resourceVersion } }: WrittenObject,
      status: object,
      signal: AbortSignal,
    ): Promise<StoredObject | 'conflict' | 'gone'> {
      const path = `${objectPath(kind, place, name)}/status`;
      const patch = { metadata: { resourceVersion }, status };
      return written(await ask('PATCH', path, signal, patch), kind, `update ${path}`);
    },
  };
}

/** Deletes the object as it was read: not another one of its name. */
export async function deleteExactly(
  objects: Pick<Objects, 'get' | 'delete'>,
  kind: ResourceKind,
  place: Place,
  { id, uid }: { readonly id: string; readonly uid: string },
  signal: AbortSignal,
): Promise<void> {
  const object = await objects.get(kind, place, id, signal);
  if (object?.metadata.uid === uid) await objects.delete(kind, place, object, signal);
}

function parse(value: unknown, kind: ResourceKind, itemKind?: string): StoredObject {
  try {
    return storedObject(value, kind, itemKind);
  } catch (error) {
    throw error instanceof MalformedObject ? unusable(error) : error;
  }
}

function written(response: UpstreamResponse, kind: ResourceKind, what: string) {
  return outcomeOf(response, what) ?? parse(readJSONObject(response.body), kind);
}

/** @returns undefined if what was asked for is done */
function outcomeOf(response: UpstreamResponse, what: string): 'conflict' | 'gone' | undefined {
  if (response.status === 200 || response.status === 202) return undefined;
  if (response.status === 409) return 'conflict';
  if (response.status === 404) return 'gone';
  throw unexpected(response, what);
}

function forbidden(response: UpstreamResponse, what: string): StatusError {
  return new StatusError(
    'ProvisioningForbidden',
    'Service Unavailable: the API server does not let Stonegate provision this; its operator applies what `stonegate manifests rbac --config FILE --provisioner` prints',
    { cause: responseError(response, what) },
  );
}

/** A Status explains a refusal; any other response cannot be used. */
function unexpected(response: UpstreamResponse, what: string): StatusError {
  const { status } = response;
  const cause = responseError(response, what);
  if (status < 400 || status >= 500 || messageOf(response) === '') return unusable(cause);
  const refusal = 'the API server refuses what provisioning asks for';
  return new StatusError('ProvisioningRefused', refusal, { cause });
}

/** A 403 that no right at the API server would change: of a webhook, or of a quota. */
const BY_ADMISSION = /^admission webhook |exceeded quota: /;

/** Empty for a response that is no Status. */
function messageOf({ body }: UpstreamResponse): string {
  const message = readJSONObject(body)?.message;
  return typeof message === 'string' ? message : '';
}

function responseError(response: UpstreamResponse, what: string): Error {
  return new Error(`${what}: ${messageOf(response) || `the status was ${response.status}`}`);
}

function unusable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause },
  );
}
