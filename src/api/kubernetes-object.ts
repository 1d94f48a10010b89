/**
 * The objects Stonegate makes in a cluster: namespaces, tenants, roles and their bindings.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ and …/authorization-resources/
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly deletionTimestamp?: string;
}

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
  readonly metadata: ObjectMeta;
  readonly spec: { readonly storageClusterId: string };
}

export interface Namespace {
  readonly apiVersion: 'v1';
  readonly kind: 'Namespace';
  readonly metadata: ObjectMeta;
}

export interface ClusterRole {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly kind: 'ClusterRole';
  readonly metadata: ObjectMeta;
  readonly rules: readonly PolicyRule[];
}

interface BindingFields {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly metadata: ObjectMeta;
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
