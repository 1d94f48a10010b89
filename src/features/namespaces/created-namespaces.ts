/**
 * Namespaces that users have created through this process, read from the API server's responses: the user's
 * next list waits until the index has the new namespace.
 */
import { LRUCache } from 'lru-cache';
import { decodeObject, isKubernetesProtobuf } from '../../kubernetes/kubernetes-protobuf.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { fieldAt } from '../../lib/json-object.ts';

/** The most users; the one who created a namespace least recently is evicted. */
const MAX_USERS = 1_000;

export class CreatedNamespaces {
  /** The revision of the user's last created namespace, by tenant and user name. */
  readonly #revisions = new LRUCache<string, number>({ max: MAX_USERS });

  /** The API server has created a namespace for the user. */
  created(tenant: string, username: string, revision: number): void {
    const key = keyOf(tenant, username);
    this.#revisions.set(key, Math.max(revision, this.#revisions.get(key) ?? 0));
  }

  /** @returns 0 if the user has created none since the last list */
  revisionOf(tenant: string, username: string): number {
    return this.#revisions.get(keyOf(tenant, username)) ?? 0;
  }

  /** The user's list has the namespace, or has waited for it in vain. */
  shown(tenant: string, username: string, revision: number): void {
    const key = keyOf(tenant, username);
    if (this.#revisions.get(key) === revision) this.#revisions.delete(key);
  }
}

function keyOf(tenant: string, username: string): string {
  return JSON.stringify([tenant, username]);
}

/** Whether the request may create a namespace; an apply does so with PATCH. */
export function mayCreateNamespace({ verb, apiGroup, resource, subresource }: ResourceRequest): boolean {
  return (
    (verb === 'create' || verb === 'patch') &&
    apiGroup === '' &&
    resource === 'namespaces' &&
    subresource === ''
  );
}

/**
 * @param body of a response with status 201
 * @returns undefined if it shows none: that of a dry run, or one in another format than JSON and protobuf
 */
export function createdRevision(body: Buffer): number | undefined {
  const version = fieldAt(objectIn(body), 'metadata', 'resourceVersion');
  const revision = typeof version === 'string' && /^[0-9]+$/.test(version) ? Number(version) : 0;
  return revision > 0 && Number.isSafeInteger(revision) ? revision : undefined;
}

function objectIn(body: Buffer): unknown {
  try {
    return isKubernetesProtobuf(body) ? decodeObject(body) : JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
