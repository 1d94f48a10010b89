/**
 * The marks on what Stonegate makes, by which it knows its own again. A binding is named by a digest of what it is for,
 * so that the same purpose is the same object for every replica and every run, whatever Keystone's names hold; labels
 * say whose an object is. What has neither was made by somebody else.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
import { createHash } from 'node:crypto';
import type { KubernetesObject, NamedObjectMeta, PolicyRule, RBACSubject } from '../api/kubernetes-object.ts';

const MANAGED_BY = 'stonegate.dev/managed-by';
const PROJECT_ID = 'stonegate.dev/project-id';
const DOMAIN_ID = 'stonegate.dev/domain-id';
const PURPOSE = 'stonegate.dev/purpose';
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const DIGEST = 'sha256.';
const BINDING_NAME = /^stonegate-[0-9a-f]{40}$/;

/** For whom something is made. */
export interface Ownership {
  readonly projectID?: string;
  readonly domainID?: string;
}

/** @param readable names for whoever looks at the object: `{ 'project-name': 'web' }` */
export function managedLabels(
  { projectID, domainID }: Ownership,
  readable: Readonly<Record<string, string>> = {},
): Required<Pick<NamedObjectMeta, 'labels' | 'annotations'>> {
  const ids = Object.entries({ [PROJECT_ID]: projectID, [DOMAIN_ID]: domainID }).flatMap(([key, id]) =>
    id === undefined ? [] : [{ key, id, value: labelValue(id) }],
  );
  return {
    labels: { [MANAGED_BY]: 'stonegate', ...Object.fromEntries(ids.map(({ key, value }) => [key, value])) },
    annotations: Object.fromEntries([
      ...ids.filter(({ id, value }) => id !== value).map(({ key, id }) => [key, id]),
      // A lone surrogate arrives as another character, and would look changed ever after.
      ...Object.entries(readable).map(([key, text]) => [`stonegate.dev/${key}`, text.toWellFormed()]),
    ]),
  };
}

/** @param purpose what the binding is for; equal for no two */
export function bindingMeta(
  purpose: string,
  owner: Ownership,
  readable: Readonly<Record<string, string>>,
): NamedObjectMeta {
  const { labels, annotations } = managedLabels(owner, readable);
  return { name: bindingName(purpose), labels, annotations: { ...annotations, [PURPOSE]: purpose } };
}

/** Whether Stonegate made it. A copy of a binding under another name is its maker's. */
export function isManaged({ kind, metadata }: KubernetesObject): boolean {
  const labelled = metadata.labels?.[MANAGED_BY] === 'stonegate';
  if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return labelled;
  const purpose = metadata.annotations?.[PURPOSE];
  const recognised = purpose !== undefined && bindingName(purpose) === metadata.name;
  return recognised || (labelled && BINDING_NAME.test(metadata.name));
}

/** Whether Stonegate made it for that very project or domain. */
export function isManagedFor(object: KubernetesObject, owner: Ownership): boolean {
  return isManaged(object) && Object.entries(owner).every(([kind, id]) => isOf(object.metadata, kind, id));
}

/** As a label selector: what Stonegate made for that project or domain. */
export function ownerSelector(owner: Ownership): string {
  const { labels } = managedLabels(owner);
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** For what is compared with another object's marks, such as a namespace with its bindings. */
export function ownerLabels({ labels }: NamedObjectMeta): { projectID?: string; domainID?: string } {
  const projectID = labels?.[PROJECT_ID];
  const domainID = labels?.[DOMAIN_ID];
  return { ...(projectID !== undefined && { projectID }), ...(domainID !== undefined && { domainID }) };
}

/** An id as a label carries it: as it is where it can be, else by its digest. */
export function labelValue(id: string): string {
  if (LABEL_VALUE.test(id) && !id.startsWith(DIGEST)) return id;
  return `${DIGEST}${digest(id).slice(0, 56)}`;
}

function isOf({ labels }: NamedObjectMeta, kind: string, id: string): boolean {
  return labels?.[kind === 'projectID' ? PROJECT_ID : DOMAIN_ID] === labelValue(id);
}

function bindingName(purpose: string): string {
  return `stonegate-${digest(purpose).slice(0, 40)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/*
 * Whether an object is still as Stonegate made it, and how it gets so again. Labels and annotations of others stay;
 * whom a role is bound to, and what it allows, are exactly ours.
 
 */

const RBAC = 'rbac.authorization.k8s.io';

/** Whether it can only be made anew: which role a binding names never changes. */
export function replaces(wanted: KubernetesObject, existing: KubernetesObject): boolean {
  if (!('roleRef' in wanted) || !('roleRef' in existing)) return false;
  const { kind, name } = existing.roleRef;
  return kind !== wanted.roleRef.kind || name !== wanted.roleRef.name;
}

/** @returns the wanted object with what others have added to it, to be written; undefined where all is as it should be */
export function withDrift(
  wanted: KubernetesObject,
  existing: KubernetesObject,
): KubernetesObject | undefined {
  const { labels = {}, annotations = {} } = wanted.metadata;
  const asWanted =
    holds(existing.metadata.labels, labels) &&
    holds(existing.metadata.annotations, annotations) &&
    bodyOf(wanted) === bodyOf(existing);
  if (asWanted) return undefined;
  const metadata = {
    ...existing.metadata,
    labels: { ...existing.metadata.labels, ...labels },
    annotations: { ...existing.metadata.annotations, ...annotations },
  };
  return { ...wanted, metadata };
}

function holds(
  actual: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => actual[key] === value);
}

/** Equal for objects that mean the same, whatever defaults the API server has written out. */
function bodyOf(object: KubernetesObject): string {
  if ('rules' in object) {
    // Somebody else's roles added to ours would show in its rules only later.
    return JSON.stringify([object.rules.map(ruleOf), 'aggregationRule' in object]);
  }
  return 'subjects' in object ? JSON.stringify(object.subjects.map(subjectOf)) : '';
}

function ruleOf(rule: PolicyRule) {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
  return [apiGroups, resources, resourceNames, nonResourceURLs, verbs];
}

function subjectOf({ kind, name, namespace = '', apiGroup }: RBACSubject) {
  return [kind, name, namespace, apiGroup ?? (kind === 'ServiceAccount' ? '' : RBAC)];
}
