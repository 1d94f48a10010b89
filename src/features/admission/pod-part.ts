/**
 * Where the built-in kinds have the metadata and the spec of the pods that they are or create. Kinds are
 * known by group and resource, as the request names them: the object's own `kind` is the client's.
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/
 */
import { isJSONObject, ownValue } from '../../lib/json-object.ts';

/** Untrusted values and their paths in the object. */
export interface PodPart {
  readonly metadata: unknown;
  readonly metadataPath: string;
  readonly spec: unknown;
  readonly specPath: string;
}

const TEMPLATE = ['spec', 'template'];

/** The fields that lead to the pod or its template; key: `<group>/<resource>`. */
const PLACES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/pods', []],
  ['/podtemplates', ['template']],
  ['/replicationcontrollers', TEMPLATE],
  ['apps/replicasets', TEMPLATE],
  ['apps/deployments', TEMPLATE],
  ['apps/statefulsets', TEMPLATE],
  ['apps/daemonsets', TEMPLATE],
  // Arktos still serves them in this group.
  ['extensions/replicasets', TEMPLATE],
  ['extensions/deployments', TEMPLATE],
  ['extensions/daemonsets', TEMPLATE],
  ['batch/jobs', TEMPLATE],
  ['batch/cronjobs', ['spec', 'jobTemplate', 'spec', 'template']],
]);

/**
 * @returns undefined if the kind has none, or the object is without its optional template. A field of a wrong
 * type on the way is returned in place of the spec, where its reader reports it.
 */
export function podPartOf(apiGroup: string, resource: string, object: unknown): PodPart | undefined {
  const place = PLACES.get(`${apiGroup}/${resource}`);
  if (place === undefined) return undefined;
  let holder = object;
  let path = '';
  for (const field of place) {
    if (!isJSONObject(holder)) return faulty(holder, path);
    holder = ownValue(holder, field) ?? undefined;
    path = path === '' ? field : `${path}.${field}`;
    if (holder === undefined) return undefined;
  }
  if (!isJSONObject(holder)) return faulty(holder, path);
  const prefix = path === '' ? '' : `${path}.`;
  return {
    metadata: ownValue(holder, 'metadata'),
    metadataPath: `${prefix}metadata`,
    spec: ownValue(holder, 'spec'),
    specPath: `${prefix}spec`,
  };
}

/** Null is no object either. */
function faulty(value: unknown, path: string): PodPart {
  return { metadata: undefined, metadataPath: 'metadata', spec: value ?? 'null', specPath: path };
}
