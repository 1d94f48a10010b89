/**
 * Compares an object that Stonegate wants with the one that the API server has. Labels and annotations of
 * others are preserved; rules and subjects must equal the desired ones exactly.
 */

/** The parts of an object of Kubernetes that are compared. */
export interface ComparedObject {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly ComparedRule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly ComparedSubject[];
}

interface ComparedRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface ComparedSubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly apiGroup?: string;
}

const RBAC = 'rbac.authorization.k8s.io';

/** Whether the object must be recreated: `roleRef` is immutable. */
export function replaces(
  { roleRef: wanted }: ComparedObject,
  { roleRef: existing }: ComparedObject,
): boolean {
  if (wanted === undefined || existing === undefined) return false;
  return existing.kind !== wanted.kind || existing.name !== wanted.name;
}

/** @returns the object to write; undefined if nothing differs */
export function withDrift<T extends ComparedObject>(wanted: T, existing: T): T | undefined {
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

/** Equal for objects that mean the same, regardless of the API server's defaults. */
function bodyOf(object: ComparedObject): string {
  // An aggregation rule would add rules of other roles later.
  if (object.rules !== undefined)
    return JSON.stringify([object.rules.map(ruleOf), 'aggregationRule' in object]);
  return object.subjects === undefined ? '' : JSON.stringify(object.subjects.map(subjectOf));
}

function ruleOf(rule: ComparedRule) {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
  return [apiGroups, resources, resourceNames, nonResourceURLs, verbs];
}

function subjectOf({ kind, name, namespace = '', apiGroup }: ComparedSubject) {
  return [kind, name, namespace, apiGroup ?? (kind === 'ServiceAccount' ? '' : RBAC)];
}
