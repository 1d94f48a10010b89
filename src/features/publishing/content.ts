/**
 * What a copy contains besides its metadata, and which objects have no copies: tokens of the cluster, roles
 * beyond what may be granted, definitions that tenants would share. A binding names a role that is
 * published to the same tenant, or one of Stonegate's, and no subject of the cluster.
 */
import { z } from 'zod';
import {
  CRD_SHARING_POLICY,
  objectKey,
  type Place,
  placeOf,
  policyRuleSchema,
  type RBACSubject,
  type RoleRef,
  roleRefSchema,
  type StoredObject,
  subjectsSchema,
} from '../../kubernetes/kubernetes-object.ts';
import { kindProblem, type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import { AUTHENTICATED, TENANT_GROUP_PREFIX } from '../../kubernetes/reserved-names.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { GIVEN_BY_MANAGE } from '../../rbac/cluster-roles.ts';
import type { createRulesCheck } from '../../rbac/granted-rules.ts';
import { InvalidPolicy } from '../../rbac/invalid-policy.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';

export interface ContentRules {
  readonly facts: TenancyFacts;
  /** Throws InvalidPolicy unless the provisioner may grant all of the rules. */
  readonly checkRules: ReturnType<typeof createRulesCheck>;
}

interface Candidate {
  readonly kind: PublishedKind;
  readonly object: StoredObject;
}

/** Tokens of this cluster, and the state of Helm's releases, which is of use in one namespace only. */
const NEVER_SECRETS: ReadonlySet<string> = new Set([
  'kubernetes.io/service-account-token',
  'bootstrap.kubernetes.io/token',
]);
const HELM_SECRET = /^helm\.sh\/release/;
const NEVER_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);
/** Fields of service accounts that refer to tokens, which a controller writes. */
const SERVICE_ACCOUNT_FIELDS: ReadonlySet<string> = new Set([
  'automountServiceAccountToken',
  'imagePullSecrets',
]);

export function contentOf(
  { kind, object }: Candidate,
  rules: ContentRules,
): { readonly fields: JSONObject } | { readonly refused: string } {
  const refused = problemOf(resourceName(kind), object, rules);
  return refused === undefined ? { fields: fieldsOf(kind, object) } : { refused };
}

/** The fields of a copy, or of an object that may be one, that publishing decides. */
export function fieldsOf(kind: PublishedKind, object: StoredObject): JSONObject {
  const isServiceAccount = resourceName(kind) === 'serviceaccounts';
  const fields = Object.entries(object).filter(
    ([field, value]) =>
      !NEVER_FIELDS.has(field) &&
      (!isServiceAccount || SERVICE_ACCOUNT_FIELDS.has(field)) &&
      value !== undefined &&
      value !== null,
  );
  return Object.fromEntries(fields);
}

function problemOf(resource: string, object: StoredObject, rules: ContentRules): string | undefined {
  switch (resource) {
    case 'secrets':
      return secretProblem(object);
    case 'roles.rbac.authorization.k8s.io':
    case 'clusterroles.rbac.authorization.k8s.io':
      return roleProblem(object, rules.checkRules);
    case 'rolebindings.rbac.authorization.k8s.io':
    case 'clusterrolebindings.rbac.authorization.k8s.io':
      return bindingProblem(object, rules.facts);
    case 'customresourcedefinitions.apiextensions.k8s.io':
      return definitionProblem(object);
    default:
      return undefined;
  }
}

function secretProblem({ type }: StoredObject): string | undefined {
  if (typeof type !== 'string') return 'its type is unknown';
  return NEVER_SECRETS.has(type) || HELM_SECRET.test(type)
    ? `Secrets of the type ${type} are never published`
    : undefined;
}

function definitionProblem({ spec, metadata }: StoredObject): string | undefined {
  if (!isJSONObject(spec)) return 'it has no spec';
  const { scope, group, names, conversion } = spec;
  if (scope !== 'Namespaced' && scope !== 'Tenant')
    return 'tenants would share its objects: expected spec.scope Namespaced or Tenant';
  if (typeof group !== 'string' || !isJSONObject(names) || typeof names.plural !== 'string')
    return 'its group or plural is unknown';
  const problem = kindProblem({ group, resource: names.plural });
  if (problem !== undefined) return `it defines a kind that ${problem}`;
  if (isJSONObject(conversion) && (conversion.strategy ?? 'None') !== 'None')
    return 'its objects would be sent to a webhook: expected spec.conversion.strategy None';
  if (metadata.labels?.[CRD_SHARING_POLICY]?.toLowerCase() === 'forced')
    return `every tenant has it already: the label ${CRD_SHARING_POLICY}`;
  return undefined;
}

const GROUP = 'rbac.authorization.k8s.io';

/** @returns why the role cannot be published; undefined if it can */
function roleProblem(object: StoredObject, checkRules: ContentRules['checkRules']): string | undefined {
  if (object.aggregationRule !== undefined && object.aggregationRule !== null)
    return "it has an aggregationRule, by which a tenant's own roles would be included";
  const { data: rules } = z.array(policyRuleSchema).safeParse(object.rules ?? []);
  if (rules === undefined) return 'its rules cannot be read';
  if (rules.length === 0) return undefined;
  try {
    checkRules(rules, 'rules');
    return undefined;
  } catch (error) {
    if (error instanceof InvalidPolicy) return error.message;
    throw error;
  }
}

/** @returns why the binding cannot be published, whatever roles there are; undefined if it can */
function bindingProblem(object: StoredObject, facts: TenancyFacts): string | undefined {
  const role = roleOf(object);
  if (role === undefined) return 'its roleRef cannot be read';
  if (role.kind === 'ClusterRole' && !facts.hasTenantsInPaths && !isOwnRole(role))
    return `in shared mode it may name a Role, or a ClusterRole of Stonegate: not ${role.name}`;
  const subjects = subjectsOf(object);
  if (subjects === undefined) return 'its subjects cannot be read';
  for (const [index, subject] of subjects.entries()) {
    const problem = subjectProblem(subject, object.metadata.namespace, facts);
    if (problem !== undefined) return `subjects[${index}]: ${problem}`;
  }
  return undefined;
}

/** @returns undefined if the object is no binding */
export function roleOf({ roleRef }: StoredObject): RoleRef | undefined {
  return roleRefSchema.safeParse(roleRef).data;
}

/** Whether every tenant has the role without its being published. */
function isOwnRole({ kind, name }: RoleRef): boolean {
  return kind === 'ClusterRole' && GIVEN_BY_MANAGE.includes(name);
}

/**
 * @param place of the binding
 * @returns the key of the role's copy; undefined if the object is no binding, or the role is Stonegate's
 */
export function roleKey(object: StoredObject, { tenant, namespace }: Place): string | undefined {
  const role = roleOf(object);
  if (role === undefined || isOwnRole(role)) return undefined;
  const isNamespaced = role.kind === 'Role';
  const kind = {
    group: GROUP,
    version: 'v1',
    resource: isNamespaced ? 'roles' : 'clusterroles',
    namespaced: isNamespaced,
  };
  return objectKey(kind, placeOf(isNamespaced ? { tenant, namespace } : { tenant }), role.name);
}

/**
 * Service accounts of the source's namespace are those of the copy's.
 *
 * @param namespace of the copy; undefined if it has none
 */
export function subjectsIn(object: StoredObject, namespace: string | undefined): readonly RBACSubject[] {
  return (subjectsOf(object) ?? []).map((subject) =>
    subject.kind === 'ServiceAccount' && namespace !== undefined ? { ...subject, namespace } : subject,
  );
}

function subjectProblem(
  subject: RBACSubject,
  home: string | undefined,
  facts: TenancyFacts,
): string | undefined {
  const { kind, name, namespace } = subject;
  if (name === '' || name === '*') return 'expected a name';
  if (kind === 'ServiceAccount') {
    if (namespace === undefined || namespace === '') return 'expected a namespace';
    if (home !== undefined && namespace !== home)
      return `expected a service account of the namespace ${home}`;
    return namespace.startsWith('kube-') ? `${namespace} belongs to the cluster` : undefined;
  }
  if (kind === 'Group' && name === AUTHENTICATED)
    return facts.hasTenantsInPaths ? undefined : 'every user of every tenant is in system:authenticated';
  if (name.startsWith('system:')) return `${name} belongs to the cluster`;
  if (name.startsWith('stonegate:') && !(kind === 'Group' && name.startsWith(TENANT_GROUP_PREFIX)))
    return `${name} is reserved for Stonegate`;
  return undefined;
}

function subjectsOf({ subjects }: StoredObject): readonly RBACSubject[] | undefined {
  const { data } = subjectsSchema.safeParse(subjects);
  return data?.every(({ kind, apiGroup }) => {
    const group = kind === 'ServiceAccount' ? '' : GROUP;
    return apiGroup === undefined || apiGroup === group;
  })
    ? data
    : undefined;
}
