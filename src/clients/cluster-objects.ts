/**
 * The objects of the API server, over its REST API with the provisioning credential. Lists are read page by page, and
 * from the start again where a page's revision is gone; what is no plain answer is thrown. Updates and deletions carry
 * what they were decided on, so that whoever was faster wins.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */

import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';
import { type Account, STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { ClusterObjects, KubernetesObjectReference } from '../bindings/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import type { HeaderField } from '../lib/header-list.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { TooLarge } from '../lib/too-large.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';
import { collectionPath, isOfKind, objectPath, readObject } from './cluster-object-format.ts';

const PAGE = 500;
/** A page that is too long is asked for again with so many times fewer: nobody may hide behind objects of a megabyte. */
const FEWER = 8;
const MAX_PAGES = 2_000;
/** How often a list is begun anew. */
const ATTEMPTS = 3;

/** @param account on which they are read and written */
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
    const answer = await fetcher.fetch(
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
    if (answer.status === 403) throw forbidden(answer, `${method} ${target}`);
    return answer;
  }

  /** @returns undefined where the list has to be begun anew */
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
      const answer = await unlessTooLarge(ask('GET', `${path}?${query}`, signal), limit > 1);
      if (answer === undefined) {
        limit = Math.ceil(limit / FEWER);
        continue;
      }
      limit = Math.min(PAGE, limit * 2);
      if (answer.status === 410) return undefined;
      if (answer.status !== 200) throw unexpected(answer, `list ${path}`);
      const list = objectIn(answer);
      const { items, metadata } = list;
      // An empty list of Go's may be null.
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
      const answer = await ask('GET', path, signal);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw unexpected(answer, `get ${path}`);
      return believed(objectIn(answer), reference.kind);
    },
    async create(object, place, signal) {
      const path = collectionPath(object.kind, place);
      const answer = await ask('POST', path, signal, object);
      if (answer.status === 201) return 'created';
      if (answer.status === 409 && reasonOf(answer) === 'AlreadyExists') return 'exists';
      throw unexpected(answer, `create ${path}`);
    },
    async update(object, place, signal) {
      const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
      const answer = await ask('PUT', path, signal, object);
      if (answer.status === 200) return 'updated';
      if (answer.status === 409) return 'conflict';
      if (answer.status === 404) return 'gone';
      throw unexpected(answer, `update ${path}`);
    },
    async delete(object, place, signal) {
      const path = pathOf({ kind: object.kind, name: object.metadata.name, ...place });
      const answer = await ask('DELETE', path, signal, deleteOptions(object));
      if (answer.status === 200 || answer.status === 202) return 'deleted';
      if (answer.status === 409) return 'conflict';
      if (answer.status === 404) return 'gone';
      throw unexpected(answer, `delete ${path}`);
    },
  };
}

/** @returns undefined for a page that is too long, where there may be a shorter one */
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

/** What the API server says of a refusal; empty where it is not in its words. */
function statusOf({ body }: UpstreamResponse): JSONObject {
  try {
    const status: unknown = JSON.parse(body.toString('utf8'));
    return isJSONObject(status) ? status : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function reasonOf(answer: UpstreamResponse): string {
  const { reason } = statusOf(answer);
  return typeof reason === 'string' ? reason : '';
}

/** @returns undefined if the response is not in the API server's words */
function messageOf(answer: UpstreamResponse): string | undefined {
  const { message } = statusOf(answer);
  return typeof message === 'string' ? message : undefined;
}

function forbidden(answer: UpstreamResponse, what: string): StatusError {
  return new StatusError(
    'ProvisioningForbidden',
    'Service Unavailable: the API server does not let Stonegate provision this; its operator applies what `stonegate manifests rbac --config FILE --provisioner` prints',
    { cause: refusalOf(answer, what) },
  );
}

/** A response that refuses says why; any other cannot be used. */
function unexpected(answer: UpstreamResponse, what: string): StatusError {
  const cause = refusalOf(answer, what);
  const refuses = answer.status >= 400 && answer.status < 500 && messageOf(answer) !== undefined;
  if (!refuses) return unusable(cause);
  return new StatusError('ProvisioningRefused', 'the API server refuses what provisioning asks for', {
    cause,
  });
}

function refusalOf(answer: UpstreamResponse, what: string): Error {
  return new Error(`${what}: ${messageOf(answer) ?? `the status was ${answer.status}`}`);
}

function unusable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause },
  );
}
