/**
 * The four ways to patch an object: JSON Patch (RFC 6902), merge patch (RFC 7396), strategic merge patch by
 * the merge keys of the core types, and server-side apply, here a strategic merge without field ownership.
 */
import { parse as parseYAML } from 'yaml';
import { isObject, type Json, type JsonObject } from './json.ts';
import { ApiError, badRequest } from './statuses.ts';

/** The member that identifies the items of a list. Other lists are replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  imagePullSecrets: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  conditions: 'type',
};

/**
 * @param body as it was sent
 * @returns the patched object; `object` itself does not change
 * @throws ApiError 400 for a body that is not a patch, 415 for an unknown type, 422 if a JSON patch does not
 * apply
 */
export function applyPatch(contentType: string, object: JsonObject, body: string): JsonObject {
  const copy = structuredClone(object);
  switch (contentType.split(';')[0]?.trim()) {
    case 'application/json-patch+json':
      return jsonPatch(copy, parseBody(body));
    case 'application/merge-patch+json':
      return mergeInto(copy, objectOf(parseBody(body)), false);
    case 'application/strategic-merge-patch+json':
      return mergeInto(copy, objectOf(parseBody(body)), true);
    case 'application/apply-patch+yaml':
      return mergeInto(copy, objectOf(parseYAML(body)), true);
    default:
      throw new ApiError(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format', {});
  }
}

export function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw badRequest('the object provided is unrecognized: the body is not JSON');
  }
}

function objectOf(value: unknown): JsonObject {
  if (!isObject(value)) throw badRequest('the object provided is unrecognized: it is not an object');
  return value;
}

function mergeInto(target: JsonObject, patch: JsonObject, strategic: boolean): JsonObject {
  if (strategic && patch.$patch === 'replace') {
    const { $patch: _directive, ...rest } = patch;
    return rest;
  }
  for (const [key, value] of Object.entries(patch)) {
    if (strategic && key.startsWith('$deleteFromPrimitiveList/')) removeItems(target, key, value);
    else if (strategic && key.startsWith('$')) continue;
    else if (value === null) delete target[key];
    else if (isObject(value)) {
      const before = target[key];
      target[key] = mergeInto(isObject(before) ? before : {}, value, strategic);
    } else if (strategic && Array.isArray(value)) target[key] = mergeLists(key, target[key], value);
    else target[key] = value;
  }
  return target;
}

function removeItems(target: JsonObject, directive: string, gone: Json | undefined) {
  const key = directive.slice('$deleteFromPrimitiveList/'.length);
  const list = target[key];
  if (Array.isArray(list) && Array.isArray(gone)) target[key] = list.filter((item) => !gone.includes(item));
}

function mergeLists(name: string, before: Json | undefined, patch: Json[]): Json[] {
  const mergeKey = MERGE_KEYS[name];
  if (mergeKey === undefined || !Array.isArray(before))
    return patch.filter((item) => !(isObject(item) && '$patch' in item));
  let items = [...before];
  for (const item of patch) {
    if (!isObject(item)) continue;
    const isSame = (other: Json) => isObject(other) && other[mergeKey] === item[mergeKey];
    const known = items.find(isSame);
    if (item.$patch === 'delete') items = items.filter((other) => !isSame(other));
    else if (isObject(known)) mergeInto(known, item, true);
    else items.push(item);
  }
  return items;
}

function jsonPatch(object: JsonObject, operations: unknown): JsonObject {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations');
  let patched = object;
  for (const operation of operations) {
    if (!isObject(operation) || typeof operation.path !== 'string')
      throw badRequest('an operation needs a path');
    const { op, path, from, value } = operation;
    if (path === '' && (op === 'add' || op === 'replace')) patched = objectOf(value);
    else if ((op === 'move' || op === 'copy') && typeof from === 'string') {
      const source = placeOf(patched, from);
      const moved = structuredClone(child(source.parent, source.last));
      if (op === 'move') applyOperation('remove', source.parent, source.last, operation);
      const target = placeOf(patched, path);
      applyOperation('add', target.parent, target.last, { value: moved });
    } else {
      const { parent, last } = placeOf(patched, path);
      applyOperation(String(op), parent, last, operation);
    }
  }
  return patched;
}

/** Text before the first slash is ignored, as in the patch library of the real server. */
function placeOf(object: JsonObject, path: string): { parent: Json | undefined; last: string } {
  const pointer = path.split('/').slice(1).map(unescapePointer);
  const last = pointer.pop() ?? '';
  const parent = pointer.reduce<Json | undefined>(
    (at, step) => (at === undefined ? at : child(at, step)),
    object,
  );
  return { parent, last };
}

const unescapePointer = (step: string) => step.replaceAll('~1', '/').replaceAll('~0', '~');

function child(parent: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(parent)) return parent[Number(step)];
  return isObject(parent) ? parent[step] : undefined;
}

function applyOperation(op: string, parent: Json | undefined, step: string, operation: JsonObject) {
  const refuse = (): never => {
    throw new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request`, {});
  };
  const { value = null } = operation;
  const exists = child(parent, step) !== undefined;
  if (op === 'test') {
    if (JSON.stringify(child(parent, step)) !== JSON.stringify(value)) refuse();
  } else if (Array.isArray(parent)) {
    const index = step === '-' ? parent.length : Number(step);
    if (op === 'add') parent.splice(index, 0, value);
    else if (!exists) refuse();
    else if (op === 'replace') parent[index] = value;
    else if (op === 'remove') parent.splice(index, 1);
    else refuse();
  } else if (isObject(parent)) {
    if (op !== 'add' && !exists) refuse();
    if (op === 'add' || op === 'replace') parent[step] = value;
    else if (op === 'remove') delete parent[step];
    else refuse();
  } else refuse();
}
