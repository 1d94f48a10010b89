/**
 * Preconditions of deletions: uid and revision, as in DeleteOptions.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
 */
import type { IncomingMessage } from 'node:http';
import { readText } from './exchange.ts';
import { isObject, type JsonObject, objectAt, textAt } from './json.ts';
import type { Kind } from './kinds.ts';
import { parseBody } from './patches.ts';
import { conflict } from './statuses.ts';

/** @throws ApiError 409 if the object is another one or has changed */
export async function checkPreconditions(request: IncomingMessage, kind: Kind, object: JsonObject) {
  // kubectl may send its options as protobuf, but then without preconditions.
  if (!/json/.test(request.headers['content-type'] ?? '')) return;
  const body = await readText(request);
  const options = body === '' ? {} : parseBody(body);
  const wanted = isObject(options) ? objectAt(options, 'preconditions') : {};
  const metadata = objectAt(object, 'metadata');
  for (const key of ['uid', 'resourceVersion']) {
    if (textAt(wanted, key) !== '' && textAt(wanted, key) !== textAt(metadata, key))
      throw conflict(kind.group, kind.resource, textAt(metadata, 'name'));
  }
}
