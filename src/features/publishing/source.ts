/**
 * Decides whether an annotated object may be published, to which tenants, and what its copies contain; and
 * knows a copy by a label with a digest of its source's kind, namespace and name. The name of the copy is
 * part of it, so that an object with a copy's labels under another name is none. Pure.
 */
import { hash } from 'node:crypto';
import type { StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import {
  PUBLISHED,
  PUBLISHED_FROM,
  PUBLISHED_POLICY,
  PUBLISHED_SOURCE,
  type PublishedKind,
  resourceName,
} from '../../kubernetes/published-objects.ts';
import { OWN_RBAC_NAME } from '../../kubernetes/reserved-names.ts';
import { type JSONObject, ownValue } from '../../lib/json-object.ts';
import { type ContentRules, contentOf } from './content.ts';
import { isGuardedLabel } from './receivers.ts';
import { parseTenantSelector, SELECTOR_FORMS, type TenantSelector } from './tenant-selector.ts';

/** An object of a kind and in a place that may be published. */
export interface SourceObject {
  readonly kind: PublishedKind;
  readonly object: StoredObject;
}

export interface SourceRules extends ContentRules {
  /** Whether an object without a namespace may be published, by its name. */
  readonly mayPublishName: (kind: PublishedKind, name: string) => boolean;
}

/** A valid source. */
export interface Source {
  /** The name that `sourceName` gives it. */
  readonly title: string;
  readonly kind: PublishedKind;
  readonly object: StoredObject;
  readonly namespace?: string;
  readonly selector: TenantSelector;
  /** Whether a tenant's own object of the same name is replaced. */
  readonly systemFirst: boolean;
  /** All fields of the copies but `apiVersion`, `kind` and `metadata`. */
  readonly content: JSONObject;
}

/** Characters of a source as JSON; a copy must stay below the API server's limit for an object. */
const MAX_SIZE = 900_000;
const POLICIES: Readonly<Record<string, { readonly systemFirst: boolean; readonly only?: string }>> = {
  LocalFirst: { systemFirst: false },
  SystemFirst: { systemFirst: true },
  LocalCRDFirst: { systemFirst: false, only: 'customresourcedefinitions' },
  SystemCRDFirst: { systemFirst: true, only: 'customresourcedefinitions' },
};

export function isAnnotated({ metadata }: StoredObject): boolean {
  return metadata.annotations?.[PUBLISHED] !== undefined && metadata.deletionTimestamp === undefined;
}

/** @param source with the annotation */
export function readSource(
  { kind, object }: SourceObject,
  rules: SourceRules,
): Source | { readonly refused: string } {
  const { name, namespace, annotations = {}, labels = {} } = object.metadata;
  const problem = nameProblem(kind, name, rules) ?? sizeProblem(object);
  if (problem !== undefined) return { refused: problem };
  if (labels[PUBLISHED_FROM] !== undefined) return { refused: 'it is a copy itself' };
  const selector = parseTenantSelector(annotations[PUBLISHED] ?? '');
  if (selector === undefined) return { refused: `${PUBLISHED}: ${SELECTOR_FORMS}` };
  const unguarded = rules.facts.labelsNamespaces ? unguardedLabel(selector) : undefined;
  if (unguarded !== undefined)
    return { refused: `${PUBLISHED}: tenants may set the label ${unguarded} of their namespaces` };
  const policy = policyOf(kind, annotations[PUBLISHED_POLICY] ?? 'LocalFirst');
  if (policy === undefined)
    return { refused: `${PUBLISHED_POLICY}: expected ${policyNames(kind).join(' or ')}` };
  const content = contentOf({ kind, object }, rules);
  if ('refused' in content) return content;
  return {
    title: sourceName(kind, namespace, name),
    kind,
    object,
    ...(kind.namespaced && namespace !== undefined && { namespace }),
    selector,
    systemFirst: policy.systemFirst,
    content: content.fields,
  };
}

function nameProblem(kind: PublishedKind, name: string, rules: SourceRules): string | undefined {
  if (name.startsWith('system:') || OWN_RBAC_NAME.test(name))
    return 'its name is reserved for the cluster or for Stonegate';
  if (kind.resource === 'configmaps' && name === 'kube-root-ca.crt')
    return 'every namespace has its own object of this name';
  if (kind.namespaced || rules.mayPublishName(kind, name)) return undefined;
  return 'its name is not one of those in publishing.clusterScoped';
}

function sizeProblem(object: StoredObject): string | undefined {
  return JSON.stringify(object).length > MAX_SIZE ? `it is larger than ${MAX_SIZE} characters` : undefined;
}

function unguardedLabel(selector: TenantSelector): string | undefined {
  if (!('labels' in selector)) return undefined;
  return [...selector.labels.keys()].find((key) => !isGuardedLabel(key));
}

function policyOf({ resource }: PublishedKind, value: string) {
  const policy = ownValue(POLICIES, value);
  return policy?.only === undefined || policy.only === resource ? policy : undefined;
}

function policyNames(kind: PublishedKind): string[] {
  return Object.keys(POLICIES).filter((name) => policyOf(kind, name) !== undefined);
}

const DIGITS = 40;

/** The name of a source: `secrets/NAMESPACE/NAME`, `clusterroles.rbac.authorization.k8s.io/NAME`. */
export function sourceName(kind: PublishedKind, namespace: string | undefined, name: string): string {
  return [resourceName(kind), ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

/** The label and the annotation of each copy of the source. */
export function copyMetadata(source: string) {
  return {
    labels: { [MANAGED_BY]: STONEGATE, [PUBLISHED_FROM]: digest(source) },
    annotations: { [PUBLISHED_SOURCE]: source },
  };
}

/** Selects all copies, and other objects with the labels of one. */
export const COPIES = `${MANAGED_BY}=${STONEGATE},${PUBLISHED_FROM}`;

/**
 * @param namespaces in which the source may be, if the annotation does not say it
 * @returns the namespace of the source, if the object is a copy; undefined if it is none
 */
export function sourceOfCopy(
  kind: PublishedKind,
  object: StoredObject,
  namespaces: readonly string[],
): { readonly namespace?: string } | undefined {
  const { name, labels = {}, annotations = {} } = object.metadata;
  const sourceDigest = labels[PUBLISHED_FROM];
  if (!hasManagedLabel(object.metadata) || sourceDigest === undefined) return undefined;
  if (!kind.namespaced) return digest(sourceName(kind, undefined, name)) === sourceDigest ? {} : undefined;
  const [resource, stated, ...rest] = annotations[PUBLISHED_SOURCE]?.split('/') ?? [];
  const isStated = resource === resourceName(kind) && stated !== undefined && rest.join('/') === name;
  const candidates = [...(isStated ? [stated] : []), ...namespaces];
  const namespace = candidates.find((one) => digest(sourceName(kind, one, name)) === sourceDigest);
  return namespace === undefined ? undefined : { namespace };
}

function digest(text: string): string {
  return hash('sha256', text).slice(0, DIGITS);
}
