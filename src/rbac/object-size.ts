/**
 * How many bytes of memory an object takes in the index, with its entries in all maps. The estimate is not
 * below what V8 takes: nothing is subtracted for names and rules that objects share.
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { StoredObject, StoredSubject } from '../kubernetes/rbac-v1.ts';

const OBJECT_BYTES = 420;
/** A namespace, with the maps of its roles and bindings. */
const NAMESPACE_BYTES = 1_000;
const SUBJECT_BYTES = 200;
/** What a service account takes beside: its kind, its namespace, and the user name that finds it. */
const SERVICE_ACCOUNT_BYTES = 200;
const RULE_BYTES = 250;
const LABEL_BYTES = 8;
/** A text, beside its characters. */
const TEXT_BYTES = 32;

/** The API server bounds no name of a role, or that a binding refers to. */
export function sizeOf(object: StoredObject): number {
  if (object.resource === 'namespaces')
    return NAMESPACE_BYTES + textBytes([object.name, object.json]) + labelBytes(object.labels);
  const bytes = OBJECT_BYTES + textBytes([object.name]);
  if ('subjects' in object)
    return object.subjects.reduce(
      (sum, subject) => sum + sizeOfSubject(subject),
      bytes + textBytes([object.roleRef.name]),
    );
  const selectors = object.aggregates === undefined ? 0 : 8 * JSON.stringify(object.aggregates).length;
  return object.rules.reduce(
    (sum, rule) => sum + sizeOfRule(rule),
    bytes + selectors + labelBytes(object.labels),
  );
}

/** The key under which a user is found is another copy of the name. */
function sizeOfSubject({ kind, name, namespace }: StoredSubject): number {
  const more = kind === 'User' || kind === 'Group' ? 0 : SERVICE_ACCOUNT_BYTES;
  return SUBJECT_BYTES + more + 2 * (characterBytes(name) + characterBytes(namespace));
}

function sizeOfRule({ verbs, ...others }: PolicyRule): number {
  const lists = [verbs, others.apiGroups, others.resources, others.resourceNames, others.nonResourceURLs];
  return lists.reduce((sum, texts = []) => sum + textBytes(texts), RULE_BYTES);
}

function labelBytes(labels: Readonly<Record<string, string>>): number {
  const texts = Object.entries(labels).flat();
  return textBytes(texts) + LABEL_BYTES * texts.length;
}

function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_BYTES + characterBytes(text), 0);
}

/** V8 takes two bytes for each character of a text that has one outside of Latin-1. */
function characterBytes(text: string): number {
  return text.length * (/[^\0-\u00ff]/.test(text) ? 2 : 1);
}
