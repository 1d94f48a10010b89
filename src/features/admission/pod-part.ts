/**
 * Where the built-in kinds have the metadata and the spec of the pods that they are or create, and whether
 * these are small enough to be judged. Kinds are known by group and resource, as the request names them: the
 * object's own `kind` is the client's.
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

/** Values of a pod's spec; an ordinary one has some hundred. The worst take 10 to 30 µs each to judge. */
const MAX_SPEC_NODES = 2_500;
/** The API server takes no more annotations, keys and values together. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** @returns why the pod is not judged: a text of two megabytes can hold a million empty containers */
export function sizeProblem({ metadata, spec }: PodPart): string | undefined {
  if (!isWithinNodes(spec, MAX_SPEC_NODES))
    return `the spec of the pod holds more than ${MAX_SPEC_NODES} values: it is not judged`;
  const annotations = isJSONObject(metadata) ? ownValue(metadata, 'annotations') : undefined;
  const bytes = Object.entries(isJSONObject(annotations) ? annotations : {}).reduce(
    (sum, [key, value]) =>
      sum + Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  return bytes > MAX_ANNOTATION_BYTES
    ? 'the annotations of the pod are more than 256 KiB: it is not judged'
    : undefined;
}

/** Whether a value of JSON holds at most `max` values, itself included. It does not recurse. */
function isWithinNodes(value: unknown, max: number): boolean {
  const pending: unknown[] = [value];
  let nodes = 0;
  for (; pending.length > 0; nodes += 1) {
    if (nodes + pending.length > max) return false;
    const one = pending.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const member of Object.values(one)) pending.push(member);
  }
  return true;
}
