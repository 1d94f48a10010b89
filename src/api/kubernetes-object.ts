/**
 * The objects that Stonegate creates in a cluster: namespaces, tenants, roles and role bindings.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ and
 * …/authorization-resources/
 */
import type { ObjectMeta } from './meta-v1.ts';

/** Metadata of an object that has a name. */
export interface NamedObjectMeta extends ObjectMeta {
  readonly name: string;
  /** Arktos only. */
  readonly tenant?: string;
  /** Counts changes of the spec. Custom resources have it only with a status. */
  readonly generation?: number;
}

/** Objects of one kind, as the paths of the API name them. */
export interface ResourceKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The name of the resource, in the plural. */
  readonly resource: string;
  /** In arktos mode, an object without a namespace belongs to a tenant. */
  readonly namespaced: boolean;
}

/** Arktos: the label by which a definition of the system tenant is shared; its value counts in any case. */
export const CRD_SHARING_POLICY = 'arktos.futurewei.com/crd-sharing-policy';

export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

export interface RoleRef {
  readonly apiGroup: 'rbac.authorization.k8s.io';
  readonly kind: 'ClusterRole' | 'Role';
  readonly name: string;
}

export interface RBACSubject {
  readonly apiGroup?: string;
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  readonly namespace?: string;
}

export interface Tenant {
  readonly apiVersion: 'v1';
  readonly kind: 'Tenant';
  readonly metadata: NamedObjectMeta;
  readonly spec: { readonly storageClusterId: string };
}

export interface Namespace {
  readonly apiVersion: 'v1';
  readonly kind: 'Namespace';
  readonly metadata: NamedObjectMeta;
}

export interface ClusterRole {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly kind: 'ClusterRole';
  readonly metadata: NamedObjectMeta;
  readonly rules: readonly PolicyRule[];
}

interface BindingFields {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly metadata: NamedObjectMeta;
  readonly roleRef: RoleRef;
  readonly subjects: readonly RBACSubject[];
}

export interface RoleBinding extends BindingFields {
  readonly kind: 'RoleBinding';
}

export interface ClusterRoleBinding extends BindingFields {
  readonly kind: 'ClusterRoleBinding';
}

export type Binding = RoleBinding | ClusterRoleBinding;

export type KubernetesObject = Tenant | Namespace | ClusterRole | Binding;
export type ObjectKind = KubernetesObject['kind'];
