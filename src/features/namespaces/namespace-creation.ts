/**
 * The revision of a namespace that a request has created, read from the API server's response: the user's
 * next list waits for it.
 */

import { decodeObject, isKubernetesProtobuf } from '../../kubernetes/kubernetes-protobuf.ts';
import type { ResourceRequest } from '../../kubernetes/request-info.ts';
import { isJSONObject } from '../../lib/json-object.ts';

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
  const metadata = metadataOf(body);
  const version = isJSONObject(metadata) ? metadata.resourceVersion : undefined;
  const revision = typeof version === 'string' && /^[0-9]+$/.test(version) ? Number(version) : 0;
  return revision > 0 && Number.isSafeInteger(revision) ? revision : undefined;
}

function metadataOf(body: Buffer): unknown {
  try {
    const object: unknown = isKubernetesProtobuf(body)
      ? decodeObject(body)
      : JSON.parse(body.toString('utf8'));
    return isJSONObject(object) ? object.metadata : undefined;
  } catch {
    return undefined;
  }
}
