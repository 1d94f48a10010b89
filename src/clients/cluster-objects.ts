/**
 * Reads and writes objects through the API server's REST API with the provisioning credential. Lists are
 * read page by page, and again from the start if a page has expired (410). Updates and deletions carry
 * preconditions, so that a concurrent change wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { ClusterObjects, KubernetesObjectReference } from '../bindings/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import { TooLarge } from '../lib/byte-budget.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { collectionPath, isOfKind, objectPath, readObject } from './cluster-object-format.ts';

const PAGE = 500;
/**
 * A page that is too large is requested again with so many times fewer objects, so that large objects cannot
 * hide others.
 */
const FEWER = 8;
const MAX_PAGES = 2_000;
/** How often a list is read from the start. */
const ATTEMPTS = 3;

/** @param account charged for the requests */
export function createClusterObjects(
  fetcher: UpstreamFetcher,
  account: Account = STONEGATE_ACCOUNT,
): ClusterObjects {
  async function ask(
    method: string,
    target: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<UpstreamResponse> {
    const accept: HeaderField = ['Accept', 'application/json'];
    const response = await fetcher.fetch(
      {
        account,
        sender: { kind: 'stonegate' },
        method,
        target,
        ...(body === undefined
          ? { headers: [accept] }
          : { headers: [accept, ['Content-Type', 'application/json']], body: JSON.stringify(body) }),
      },
      signal,
    );
    if (response.status === 403) throw forbidden(response, `${method} ${target}`);
    return response;
  }

  /** @returns undefined if the list must be read again from the start */
  async function listOnce(
    path: string,
    selector: string,
    signal: AbortSignal,
  ): Promise<unknown[] | undefined> {
    const found: unknown[] = [];
    let next = '';
    let limit = PAGE;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(selector !== '' && { labelSelector: selector }),
        ...(next !== '' && { continue: next }),
      });
      const response = await unlessTooLarge(ask('GET', `${path}?${query}`, signal), limit > 1);
      if (response === undefined) {
        limit = Math.ceil(limit / FEWER);
        continue;
      }
      limit = Math.min(PAGE, limit * 2);
      if (response.status === 410) return undefined;
      if (response.status !== 200) throw unexpected(response, `list ${path}`);
      const list = objectIn(response);
      const { items, metadata } = list;
      // Go may encode an empty list as null.
      if (items !== null && !Array.isArray(items)) throw unusable(new Error('the list has no items'));
      found.push(...(items ?? []));
      next = isJSONObject(metadata) && typeof metadata.continue === 'string' ? metadata.continue : '';
      if (next === '') return found;
    }
    throw unusable(new Error('the list has no end'));
  }

  return {
    async list(kind, place, labelSelector, signal) {
      const path = collectionPath(kind, place);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const items = await listOnce(path, labelSelector, signal);
        if (items === undefined) continue;
        return items.map((item) => {
          const object = believed(item, kind);
          if (isOfKind(object, kind)) return object;
          throw unusable(new Error(`a member of the list is no ${kind}`));
        });
      }
      throw unusable(new Error(`the list ${path} changes faster than it can be read`));
    },
    async get(reference, signal) {
      const path = pathOf(reference);
      const response = await ask('GET', path, signal);
      if (response.status === 404) return undefined;
      if (response.status !== 200) throw unexpected(response, `get ${path}`);
      return believed(objectIn(response), reference.kind);
    },
    async create(object, place, signal) {
      const path = collectionPath(object.kind, place);
      const response = await ask('POST', path, signal, object);
      if (response.status === 201) return 'created';
      if (response.status === 409 && reasonOf(response) === 'AlreadyExists') return 'exists';
      throw unexpected(response, `create ${path}`);
    },
    async update(object, place, signal) {
      const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
      const response = await ask('PUT', path, signal, object);
      if (response.status === 200) return 'updated';
      if (response.status === 409) return 'conflict';
      if (response.status === 404) return 'gone';
      throw unexpected(response, `update ${path}`);
    },
    async delete(object, place, signal) {
      const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
      const response = await ask('DELETE', path, signal, deleteOptions(object));
      if (response.status === 200 || response.status === 202) return 'deleted';
      if (response.status === 409) return 'conflict';
      if (response.status === 404) return 'gone';
      throw unexpected(response, `delete ${path}`);
    },
  };
}

/** @returns undefined for a page that is too large, if it can be split */
async function unlessTooLarge(
  page: Promise<UpstreamResponse>,
  divisible: boolean,
): Promise<UpstreamResponse | undefined> {
  try {
    return await page;
  } catch (error) {
    if (divisible && error instanceof StatusError && error.cause instanceof TooLarge) return undefined;
    throw error;
  }
}

function pathOf({ kind, name, ...place }: KubernetesObjectReference): string {
  return objectPath(kind, place, name);
}

function deleteOptions({ metadata }: KubernetesObject): object {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) throw new TypeError('only what was read can be deleted');
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
}

function objectIn({ body }: UpstreamResponse): JSONObject {
  const parsed = parse(body);
  if (isJSONObject(parsed)) return parsed;
  throw unusable(new Error('it is no object'));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw unusable(cause);
  }
}

function believed(value: unknown, kind: ObjectKind): KubernetesObject {
  try {
    return readObject(value, kind);
  } catch (cause) {
    throw unusable(cause);
  }
}

/** The Status in a response; empty if there is none. */
function statusOf({ body }: UpstreamResponse): JSONObject {
  try {
    const status: unknown = JSON.parse(body.toString('utf8'));
    return isJSONObject(status) ? status : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function reasonOf(response: UpstreamResponse): string {
  const { reason } = statusOf(response);
  return typeof reason === 'string' ? reason : '';
}

/** @returns undefined if the response is not a Status */
function messageOf(response: UpstreamResponse): string | undefined {
  const { message } = statusOf(response);
  return typeof message === 'string' ? message : undefined;
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
  const cause = responseError(response, what);
  const refuses = response.status >= 400 && response.status < 500 && messageOf(response) !== undefined;
  if (!refuses) return unusable(cause);
  return new StatusError('ProvisioningRefused', 'the API server refuses what provisioning asks for', {
    cause,
  });
}

function responseError(response: UpstreamResponse, what: string): Error {
  return new Error(`${what}: ${messageOf(response) ?? `the status was ${response.status}`}`);
}

function unusable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause },
  );
}
