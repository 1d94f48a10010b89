/**
 * How many bytes of memory an object takes in the index, with its entries in all maps. The estimate is not
 * below what V8 takes: nothing is subtracted for names and rules that objects share.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { StoredObject } from '../api/rbac-v1.ts';

const OBJECT_BYTES = 500;
/** With the maps of its roles and bindings. */
const NAMESPACE_BYTES = 1_000;
const SUBJECT_BYTES = 350;
const RULE_BYTES = 250;
/** In the set of names that `role-allows.ts` stores of a role. */
const NAME_BYTES = 48;
/** A text, beside its characters. */
const TEXT_BYTES = 32;

/** The API server bounds no name of a role, or that a binding refers to. */
export function sizeOf(object: StoredObject): number {
  if (object.resource === 'namespaces')
    return NAMESPACE_BYTES + textBytes([object.name, object.json]) + labelBytes(object.labels);
  const bytes = OBJECT_BYTES + textBytes([object.name]);
  if ('subjects' in object)
    return object.subjects.reduce(
      (sum, { name, namespace }) => sum + SUBJECT_BYTES + 2 * (name.length + namespace.length),
      bytes + textBytes([object.roleRef.name]),
    );
  const selectors = object.aggregates === undefined ? 0 : 8 * JSON.stringify(object.aggregates).length;
  return object.rules.reduce(
    (sum, rule) => sum + sizeOfRule(rule),
    bytes + selectors + labelBytes(object.labels),
  );
}

function sizeOfRule({ verbs, ...others }: PolicyRule): number {
  const lists = [verbs, others.apiGroups, others.resources, others.resourceNames, others.nonResourceURLs];
  const names = NAME_BYTES * (others.resourceNames?.length ?? 0);
  return lists.reduce((sum, texts = []) => sum + textBytes(texts), RULE_BYTES + names);
}

function labelBytes(labels: Readonly<Record<string, string>>): number {
  return textBytes(Object.entries(labels).flat());
}

/** V8 takes two bytes for each character of a text that has one outside of Latin-1. */
function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_BYTES + 2 * text.length, 0);
}
