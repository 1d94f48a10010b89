/**
 * Compares a role, a binding or a quota that Stonegate wants with the one that the API server has. Labels and
 * annotations of others are preserved; rules, subjects and the spec must equal the desired ones exactly.
 */
import { isEqual } from '../../lib/json-equal.ts';
import { goList, isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import type { StoredObject, WrittenObject } from '../kubernetes-object.ts';
import type { Comparison } from './plan.ts';

const RBAC = 'rbac.authorization.k8s.io';

/** @param isOwned whether Stonegate made the existing object; another client's is left as it is */
export function compareOwned(
  desired: WrittenObject,
  existing: StoredObject | undefined,
  isOwned: (existing: StoredObject) => boolean,
): Comparison {
  if (existing === undefined) return { action: 'create', object: desired };
  if (!isOwned(existing))
    return { refused: 'it is there, but Stonegate did not create it: it is left as it is' };
  const wanted: StoredObject = { ...desired };
  // A roleRef cannot be updated.
  if (!isEqual(roleRefOf(wanted), roleRefOf(existing)))
    return { action: 'update', object: desired, replaces: existing };
  const { labels = {}, annotations = {} } = existing.metadata;
  const all = {
    labels: { ...labels, ...desired.metadata.labels },
    annotations: { ...annotations, ...desired.metadata.annotations },
  };
  if (isEqual(all, { labels, annotations }) && isEqual(bodyOf(wanted), bodyOf(existing)))
    return { action: 'none' };
  return { action: 'update', object: { ...desired, metadata: { ...existing.metadata, ...all } } };
}

function roleRefOf({ roleRef }: StoredObject): unknown {
  return isJSONObject(roleRef) ? { kind: roleRef.kind, name: roleRef.name } : null;
}

/** Equal for objects that mean the same, regardless of the API server's defaults. */
function bodyOf({ spec, rules, subjects, aggregationRule }: StoredObject): unknown {
  return {
    spec: spec ?? null,
    rules: goList(rules ?? null)?.map((rule) => (isJSONObject(rule) ? ruleOf(rule) : rule)) ?? rules,
    subjects: goList(subjects ?? null)?.map((one) => (isJSONObject(one) ? subjectOf(one) : one)) ?? subjects,
    // It would add rules of other roles later.
    isAggregated: aggregationRule !== undefined && aggregationRule !== null,
  };
}

function ruleOf(rule: JSONObject) {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs = [] } = rule;
  return [apiGroups, resources, resourceNames, nonResourceURLs, verbs];
}

function subjectOf({ kind, name, namespace = '', apiGroup }: JSONObject) {
  return [kind, name, namespace, apiGroup ?? (kind === 'ServiceAccount' ? '' : RBAC)];
}
