/**
 * Whether an object is still as Stonegate made it, and how it gets so again. Labels and annotations of others stay;
 * whom a role is bound to, and what it allows, are exactly ours.
 */
import type { KubernetesObject, PolicyRule, RBACSubject } from '../api/kubernetes-object.ts';

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
