/**
 * What a copy contains besides its metadata, and which objects have no copies: tokens of the cluster, roles
 * beyond what may be granted, definitions that tenants would share.
 */
import {
  CRD_SHARING_POLICY,
  type PolicyRule,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { kindProblem, type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import { isJSONObject, type JSONObject } from '../../lib/json-object.ts';
import { bindingProblem, roleProblem } from './rbac-objects.ts';

export interface ContentRules {
  readonly mode: 'arktos' | 'shared';
  /** Whether the provisioner may grant all of the rules. */
  readonly mayGrant: (rules: readonly PolicyRule[]) => boolean;
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
  const never = kindProblem(kind);
  if (never !== undefined) return { refused: `its kind ${never}` };
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
      return roleProblem(object, rules.mayGrant);
    case 'rolebindings.rbac.authorization.k8s.io':
    case 'clusterrolebindings.rbac.authorization.k8s.io':
      return bindingProblem(object, rules.mode);
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
