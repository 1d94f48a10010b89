/**
 * Reads namespaces, roles and bindings from the API server's JSON into the form of the index. A field that is
 * not as RBAC defines it grants nothing, and so do rules and subjects that are too large; only an object that
 * cannot be identified is an error.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { MalformedObject, type ReceivedObject, readRevision } from '../kubernetes/list-watch.ts';
import type {
  IndexedResource,
  LabelSelector,
  StoredBinding,
  StoredNamespace,
  StoredObject,
  StoredRole,
  StoredSubject,
} from '../kubernetes/rbac-v1.ts';
import { SharedValues } from '../kubernetes/shared-values.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';

type Labels = Readonly<Record<string, string>>;

/** Characters of JSON that the rules of a role or the subjects of a binding may have. */
const MAX_CHARACTERS = 64 * 1024;

const NO_LABELS: Labels = {};
const NO_SUBJECTS: readonly StoredSubject[] = [];

/** What all resources have. */
interface Head {
  readonly object: JSONObject;
  readonly metadata: JSONObject;
  readonly stored: Pick<StoredObject, 'tenant' | 'name' | 'uid' | 'revision'>;
}

/**
 * Equal values of different objects are stored once: there are far more bindings than roles and groups.
 *
 * @param inTenants whether each object belongs to a tenant of Arktos
 */
export function createRBACReader({ inTenants }: { readonly inTenants: boolean }) {
  const names = new SharedValues<string>((name) => name);
  const sharedRules = new SharedValues<PolicyRule>(JSON.stringify);
  const sharedSubjects = new SharedValues<StoredSubject>(keyOfSubject);
  const roleRefs = new SharedValues<StoredBinding['roleRef']>(keyOfRoleRef);

  function readNamespace(written: ReceivedObject): StoredNamespace {
    const { object, metadata, stored } = headOf(written);
    return {
      ...stored,
      resource: 'namespaces',
      // Bindings have the same text as their namespace: comparing it is comparing two references.
      name: names.share(stored.name),
      labels: labelsOf(metadata),
      phase: names.share(isJSONObject(object.status) ? textOf(object.status.phase) : ''),
      creationTimestamp: textOf(metadata.creationTimestamp),
      json: withKind(object, written.text()),
    };
  }

  function readRole(resource: StoredRole['resource'], written: ReceivedObject): StoredRole {
    const { object, metadata, stored } = headOf(written);
    const namespace = resource === 'roles' ? namespaceOf(metadata) : '';
    const { rules, aggregationRule } = object;
    // No aggregation rule selects Roles by their labels.
    const labels = resource === 'clusterroles' ? metadata.labels : undefined;
    const place = { ...stored, resource, namespace };
    if (isTooLarge(namespace, [rules, aggregationRule, labels]))
      return { ...place, rules: [], labels: NO_LABELS, isTooLarge: true };
    const aggregates = selectorsOf(aggregationRule);
    return {
      ...place,
      rules: objectsIn(rules).map((rule) => sharedRules.share(ruleOf(rule))),
      labels: labelsOf({ labels }),
      ...(aggregates && resource === 'clusterroles' && { aggregates }),
    };
  }

  function readBinding(resource: StoredBinding['resource'], written: ReceivedObject): StoredBinding {
    const { object, metadata, stored } = headOf(written);
    const roleRef = isJSONObject(object.roleRef) ? object.roleRef : {};
    const namespace = resource === 'rolebindings' ? namespaceOf(metadata) : '';
    const isLeftOut = isTooLarge(namespace, object.subjects);
    const subjects = isLeftOut ? [] : objectsIn(object.subjects);
    return {
      ...stored,
      resource,
      namespace,
      roleRef: roleRefs.share({ kind: textOf(roleRef.kind), name: textOf(roleRef.name) }),
      subjects:
        subjects.length === 0
          ? NO_SUBJECTS
          : subjects.map((subject) => sharedSubjects.share(subjectOf(subject))),
      ...(isLeftOut && { isTooLarge: true }),
    };
  }

  /**
   * Who may write roles and bindings in one place must not fill the index with few of them. Without tenants
   * only operators write those of the whole cluster, among them aggregated roles of thousands of rules.
   */
  function isTooLarge(namespace: string, value: unknown): boolean {
    if (!inTenants && namespace === '') return false;
    return value !== undefined && JSON.stringify(value).length > MAX_CHARACTERS;
  }

  function headOf({ value: object }: ReceivedObject): Head {
    if (!isJSONObject(object) || !isJSONObject(object.metadata))
      throw new MalformedObject('an object has no metadata');
    const { metadata } = object;
    const tenant = inTenants ? textOf(metadata.tenant) : '';
    const name = textOf(metadata.name);
    if (name === '' || (inTenants && tenant === ''))
      throw new MalformedObject(`an object has no ${name === '' ? 'name' : 'tenant'}`);
    const stored = {
      tenant: names.share(tenant),
      name,
      uid: textOf(metadata.uid),
      revision: readRevision(metadata.resourceVersion),
    };
    return { object, metadata, stored };
  }

  function namespaceOf(metadata: JSONObject): string {
    const namespace = textOf(metadata.namespace);
    if (namespace === '') throw new MalformedObject('an object has no namespace');
    return names.share(namespace);
  }

  return {
    /** @throws MalformedObject */
    read(resource: IndexedResource, object: ReceivedObject): StoredObject {
      switch (resource) {
        case 'namespaces':
          return readNamespace(object);
        case 'roles':
        case 'clusterroles':
          return readRole(resource, object);
        case 'rolebindings':
        case 'clusterrolebindings':
          return readBinding(resource, object);
      }
    },
  };
}

/** Equal for equal subjects only, whatever characters they hold; faster than JSON. */
function keyOfSubject({ kind, namespace, name }: StoredSubject): string {
  return `${kind.length}:${kind}${namespace.length}:${namespace}${name}`;
}

function keyOfRoleRef({ kind, name }: StoredBinding['roleRef']): string {
  return `${kind.length}:${kind}${name}`;
}

/** Items of a list have no kind. The text is on one line, as an event of a watch must be. */
function withKind(object: JSONObject, text: string): string {
  const line = text.includes('\n') ? JSON.stringify(object) : text;
  if (typeof object.kind === 'string' && typeof object.apiVersion === 'string') return line;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  const isPlain = object.kind === undefined && object.apiVersion === undefined && line.startsWith('{');
  return `{"kind":"Namespace","apiVersion":"v1",${(isPlain ? line : JSON.stringify(rest)).slice(1)}`;
}

function ruleOf(rule: JSONObject): PolicyRule {
  const field = (name: 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs') => {
    const texts = textsIn(rule[name]);
    return texts.length > 0 && { [name]: texts };
  };
  const { resourceNames: names } = rule;
  const areNamesReadable = names === undefined || names === null || textsIn(names).length === lengthOf(names);
  return {
    ...field('apiGroups'),
    ...field('resources'),
    ...field('resourceNames'),
    ...field('nonResourceURLs'),
    // A rule without names holds for all of them: one whose names cannot be read holds for none.
    verbs: areNamesReadable ? textsIn(rule.verbs) : [],
  };
}

function lengthOf(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function subjectOf(subject: JSONObject): StoredSubject {
  return { kind: textOf(subject.kind), name: textOf(subject.name), namespace: textOf(subject.namespace) };
}

function selectorsOf(aggregationRule: unknown): LabelSelector[] | undefined {
  if (!isJSONObject(aggregationRule)) return undefined;
  return objectsIn(aggregationRule.clusterRoleSelectors).map(({ matchLabels, matchExpressions }) => ({
    ...(isJSONObject(matchLabels) && { matchLabels: textValuesOf(matchLabels) }),
    ...(Array.isArray(matchExpressions) && {
      matchExpressions: objectsIn(matchExpressions).map(({ key, operator, values }) => ({
        key: textOf(key),
        operator: textOf(operator),
        ...(Array.isArray(values) && { values: textsIn(values) }),
      })),
    }),
  }));
}

function labelsOf({ labels }: JSONObject): Labels {
  return isJSONObject(labels) ? textValuesOf(labels) : NO_LABELS;
}

function textValuesOf(object: JSONObject): Labels {
  return Object.fromEntries(
    Object.entries(object).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}

function objectsIn(value: unknown): JSONObject[] {
  return Array.isArray(value) ? value.filter(isJSONObject) : [];
}

function textsIn(value: unknown): readonly string[] {
  // A filtered array has room for more.
  if (isTexts(value)) return value;
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
