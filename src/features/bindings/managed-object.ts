/**
 * Labels and names of the objects that Stonegate manages, and bindings as the API server returns them. A
 * binding's name is a digest of its purpose, so that every replica and every run computes the same object;
 * labels name the owner. An object with neither was not created by Stonegate.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import {
  type NamedObjectMeta,
  type RBACSubject,
  type RoleRef,
  roleRefSchema,
  type StoredObject,
  subjectsSchema,
  type WrittenObject,
} from '../../kubernetes/kubernetes-object.ts';
import {
  DOMAIN_ID,
  hasManagedLabel,
  MANAGED_BY,
  PROJECT_ID,
  STONEGATE,
} from '../../kubernetes/managed-labels.ts';

const PURPOSE = 'stonegate.dev/purpose';
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const DIGEST = 'sha256.';
const BINDING_NAME = /^stonegate-[0-9a-f]{40}$/;

/** The project and domain that an object belongs to. */
export interface Ownership {
  readonly projectID?: string;
  readonly domainID?: string;
}

/** @param readable names for the operator, as annotations: `{ 'project-name': 'web' }` */
export function managedLabels(
  owner: Ownership,
  readable: Readonly<Record<string, string>> = {},
): Required<Pick<NamedObjectMeta, 'labels' | 'annotations'>> {
  const ids = Object.entries(ownerIDs(owner));
  return {
    labels: { [MANAGED_BY]: STONEGATE, ...Object.fromEntries(ids.map(([key, id]) => [key, labelValue(id)])) },
    annotations: Object.fromEntries([
      ...ids.filter(([, id]) => id !== labelValue(id)),
      // JSON replaces a lone surrogate: the object would always look changed.
      ...Object.entries(readable).map(([key, text]) => [`stonegate.dev/${key}`, text.toWellFormed()]),
    ]),
  };
}

/** @param purpose of the binding; unique */
export function bindingMeta(
  purpose: string,
  owner: Ownership,
  readable: Readonly<Record<string, string>>,
): NamedObjectMeta {
  const { labels, annotations } = managedLabels(owner, readable);
  return { name: bindingName(purpose), labels, annotations: { ...annotations, [PURPOSE]: purpose } };
}

/** Whether Stonegate created it. A copy of a binding under another name is not managed. */
export function isManaged({ kind, metadata }: WrittenObject): boolean {
  const labelled = hasManagedLabel(metadata);
  if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return labelled;
  const purpose = metadata.annotations?.[PURPOSE];
  const recognised = purpose !== undefined && bindingName(purpose) === metadata.name;
  return recognised || (labelled && BINDING_NAME.test(metadata.name));
}

/** Whether Stonegate created it for this project or domain. */
export function isManagedFor(object: WrittenObject, owner: Ownership): boolean {
  const { labels } = object.metadata;
  return (
    isManaged(object) &&
    Object.entries(ownerIDs(owner)).every(([key, id]) => labels?.[key] === labelValue(id))
  );
}

/** Label selector for the objects that Stonegate created for this project or domain. */
export function ownerSelector(owner: Ownership): string {
  const { labels } = managedLabels(owner);
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The owner's label values, to compare two objects. */
export function ownerLabels({ labels = {} }: NamedObjectMeta) {
  return { projectID: labels[PROJECT_ID], domainID: labels[DOMAIN_ID] };
}

/** An id as a label value: unchanged if it is a valid one, else a digest. */
export function labelValue(id: string): string {
  if (LABEL_VALUE.test(id) && !id.startsWith(DIGEST)) return id;
  return `${DIGEST}${digest(id).slice(0, 56)}`;
}

/** Label → id. */
function ownerIDs({ projectID, domainID }: Ownership): Readonly<Record<string, string>> {
  return {
    ...(projectID !== undefined && { [PROJECT_ID]: projectID }),
    ...(domainID !== undefined && { [DOMAIN_ID]: domainID }),
  };
}

function bindingName(purpose: string): string {
  return `stonegate-${digest(purpose).slice(0, 40)}`;
}

function digest(text: string): string {
  return hash('sha256', text);
}

export type StoredBinding = StoredObject & {
  readonly roleRef: RoleRef;
  readonly subjects: readonly RBACSubject[];
};

const fieldsSchema = z.object({ roleRef: roleRefSchema, subjects: subjectsSchema });

/** @throws StatusError UpstreamUnavailable if it is no binding */
export function storedBinding(object: StoredObject): StoredBinding {
  const { data: fields } = fieldsSchema.safeParse(object);
  if (fields !== undefined) return { ...object, ...fields };
  throw new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause: new Error(`the ${object.kind} ${object.metadata.name} has no roleRef or no subjects`) },
  );
}
