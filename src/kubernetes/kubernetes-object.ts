/**
 * The objects that Stonegate creates in a cluster: namespaces, tenants, roles and role bindings.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ and
 * …/authorization-resources/
 */
import { z } from 'zod';
import type { Output } from '../lib/schema-fields.ts';
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

const texts = z.array(z.string());

/** A rule with a field that is not known here is none: the field may restrict what the others mean. */
export const policyRuleSchema = z.strictObject({
  apiGroups: texts.exactOptional(),
  resources: texts.exactOptional(),
  resourceNames: texts.exactOptional(),
  nonResourceURLs: texts.exactOptional(),
  verbs: texts,
});

export const roleRefSchema = z.object({
  apiGroup: z.literal('rbac.authorization.k8s.io'),
  kind: z.enum(['ClusterRole', 'Role']),
  name: z.string(),
});

const subjectSchema = z.object({
  apiGroup: z.string().exactOptional(),
  kind: z.enum(['User', 'Group', 'ServiceAccount']),
  name: z.string(),
  namespace: z.string().exactOptional(),
});

/** The subjects of a binding; Go omits an empty list, or writes null. */
export const subjectsSchema = z
  .array(subjectSchema)
  .nullish()
  .transform((subjects) => subjects ?? []);

export type PolicyRule = Output<typeof policyRuleSchema>;
export type RoleRef = Output<typeof roleRefSchema>;
export type RBACSubject = Output<typeof subjectSchema>;

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
