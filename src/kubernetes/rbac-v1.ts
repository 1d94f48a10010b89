/**
 * `rbac.authorization.k8s.io/v1` and namespaces as the RBAC index reads them from the API server: every field
 * is optional or free text there, since older servers stored more than validation allows now.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import type { PolicyRule } from './kubernetes-object.ts';

/** The resources that the index lists and watches. */
export const INDEXED_RESOURCES = [
  'namespaces',
  'roles',
  'clusterroles',
  'rolebindings',
  'clusterrolebindings',
] as const;
export type IndexedResource = (typeof INDEXED_RESOURCES)[number];

interface Stored {
  /** Arktos' `metadata.tenant`; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly name: string;
  readonly uid: string;
  /** `metadata.resourceVersion`: a revision of the API server's storage. */
  readonly revision: number;
}

export interface StoredNamespace extends Stored {
  readonly resource: 'namespaces';
  readonly labels: Readonly<Record<string, string>>;
  /** `Active` or `Terminating`; empty if absent. */
  readonly phase: string;
  /** RFC 3339; empty if absent. */
  readonly creationTimestamp: string;
  /** The object as JSON, with `kind` and `apiVersion`. */
  readonly json: string;
}

export interface StoredRole extends Stored {
  readonly resource: 'roles' | 'clusterroles';
  /** Empty for a ClusterRole. */
  readonly namespace: string;
  readonly rules: readonly PolicyRule[];
  readonly labels: Readonly<Record<string, string>>;
  /** `aggregationRule.clusterRoleSelectors`; undefined if the role is not aggregated. */
  readonly aggregates?: readonly LabelSelector[];
  /** Its rules are left out: they are larger than the index takes of one object. */
  readonly isTooLarge?: true;
}

export interface StoredBinding extends Stored {
  readonly resource: 'rolebindings' | 'clusterrolebindings';
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly StoredSubject[];
  /** Its subjects are left out: they are larger than the index takes of one object. */
  readonly isTooLarge?: true;
}

export interface StoredSubject {
  /** `User`, `Group`, `ServiceAccount`; any other kind matches no user. */
  readonly kind: string;
  readonly name: string;
  /** The namespace of a ServiceAccount; empty if absent. */
  readonly namespace: string;
}

export type StoredObject = StoredNamespace | StoredRole | StoredBinding;

/** `meta/v1` LabelSelector. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}
