/**
 * What Stonegate writes at the API server belongs to Stonegate: its roles and bindings, copies of published
 * objects, and the labels and annotations by which it recognizes its objects. A tenant's user may not make,
 * change or remove them.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { OWN_RBAC_NAME, SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { ObjectReader } from './object-reader.ts';
import { keyPath, type Violation } from './violation.ts';

const RBAC = 'rbac.authorization.k8s.io';
const NAMESPACES = '/namespaces';
/** Stonegate's own kinds, as `group/resource`. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  NAMESPACES,
  `${RBAC}/roles`,
  `${RBAC}/clusterroles`,
  `${RBAC}/rolebindings`,
  `${RBAC}/clusterrolebindings`,
]);
const OWN_KEY = 'stonegate.dev/';
/** What the API server sets, or what does not change the meaning. */
const NEUTRAL_METADATA: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'hashKey',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);
const RULE = 'ownObjects';

/**
 * @param request of a tenant's user
 * @param publishedKinds further kinds of which Stonegate makes objects in tenants, as `group/resource`
 */
export function ownObjectViolations(
  request: AdmissionRequest,
  publishedKinds: ReadonlySet<string>,
): Violation[] {
  const { group, resource, operation, oldObject } = request;
  const kind = `${group}/${resource}`;
  if ((!OWN_KINDS.has(kind) && !publishedKinds.has(kind)) || operation === 'CONNECT') return [];
  if (operation === 'DELETE') return kind === NAMESPACES ? [] : deletionViolations(request);
  const before = objectAt(oldObject);
  const after = objectAt(request.object);
  const marks = [...markChanges('labels', before, after), ...markChanges('annotations', before, after)];
  if (kind === NAMESPACES || marks.length > 0) return marks;
  if (operation === 'CREATE') return group === RBAC ? nameViolations(after) : [];
  return isOwn(before, group) ? firstChange(before, after, isStatusOfController(request)) : [];
}

/** Controllers write the status of every object of their kind: how much of a quota is used. */
function isStatusOfController({ subresource, user }: AdmissionRequest): boolean {
  return subresource === 'status' && user.username.startsWith(`${SERVICE_ACCOUNT_PREFIX}kube-system:`);
}

function deletionViolations({ group, oldObject }: AdmissionRequest): Violation[] {
  if (oldObject === undefined)
    return [refusal('metadata.name', undefined, 'a tenant may delete objects of this kind only one by one')];
  const old = objectAt(oldObject);
  return isOwn(old, group)
    ? [refusal('metadata.name', old.metadata.value('name'), 'the object is managed by Stonegate')]
    : [];
}

interface OwnedObject {
  readonly fields: JSONObject;
  readonly metadata: ObjectReader;
}

function objectAt(value: unknown): OwnedObject {
  const object = new ObjectReader(value, '', []);
  return { fields: object.fields, metadata: object.object('metadata') };
}

function isOwn({ metadata }: OwnedObject, group: string): boolean {
  const marks = ['labels', 'annotations'].flatMap((field) => [...metadata.textMap(field).keys()]);
  const isNamed = group === RBAC && OWN_RBAC_NAME.test(metadata.text('name') ?? '');
  return isNamed || marks.some((key) => key.startsWith(OWN_KEY));
}

function nameViolations({ metadata }: OwnedObject): Violation[] {
  return (['name', 'generateName'] as const)
    .map((field) => ({ field, name: metadata.text(field) ?? '' }))
    .filter(({ name }) => OWN_RBAC_NAME.test(name))
    .map(({ field, name }) => refusal(`metadata.${field}`, name, 'the name is reserved for Stonegate'));
}

/** Keys that were added, changed or removed. */
function markChanges(field: 'labels' | 'annotations', before: OwnedObject, after: OwnedObject): Violation[] {
  const [old, now] = [before.metadata.textMap(field), after.metadata.textMap(field)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((key) => key.startsWith(OWN_KEY) && old.get(key) !== now.get(key))
    .map((key) =>
      refusal(
        keyPath(`metadata.${field}`, key),
        now.get(key),
        `tenants may not set or remove ${field} of Stonegate`,
      ),
    );
}

/** The first field that differs, apart from what the API server sets. */
function firstChange(before: OwnedObject, after: OwnedObject, mayChangeStatus: boolean): Violation[] {
  const changed = [
    ...changedFields(before.metadata.fields, after.metadata.fields)
      .filter((field) => !NEUTRAL_METADATA.has(field))
      .map((field) => ({ path: `metadata.${field}`, value: after.metadata.value(field) })),
    ...changedFields(before.fields, after.fields)
      .filter((field) => field !== 'metadata' && !(field === 'status' && mayChangeStatus))
      .map((field) => ({ path: field, value: after.fields[field] })),
  ];
  return changed
    .slice(0, 1)
    .map(({ path, value }) => refusal(path, value, 'the object is managed by Stonegate'));
}

function changedFields(before: JSONObject, after: JSONObject): string[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].filter((field) => !isEqual(before[field] ?? undefined, after[field] ?? undefined));
}

function refusal(path: string, value: unknown, why: string): Violation {
  return { rule: RULE, path, value, message: `${path}: ${why}` };
}
