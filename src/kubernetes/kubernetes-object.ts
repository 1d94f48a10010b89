/**
 * Objects of the API as controllers read and write them, where they are, and the kinds that Stonegate itself
 * creates: namespaces, tenants, quotas, roles and role bindings.
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
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly unknown[];
}

/**
 * Where an object is. In Arktos every object but a Tenant has a tenant (`all`, for lists, is every tenant);
 * in Kubernetes none has one.
 */
export type Place = {
  readonly tenant?: string;
  readonly namespace?: string;
};

/** An object that can be written. */
export interface WrittenObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NamedObjectMeta;
}

/** An object of any kind with all its fields, as the API server returns it. */
export interface StoredObject extends WrittenObject {
  readonly [field: string]: unknown;
}

/** Objects of one kind, as the paths of the API name them. */
export type ResourceKind = {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The name of the resource, in the plural. */
  readonly resource: string;
  /** An object without a namespace belongs to a tenant in arktos mode. */
  readonly namespaced: boolean;
};

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

export interface ResourceQuota {
  readonly apiVersion: 'v1';
  readonly kind: 'ResourceQuota';
  readonly metadata: NamedObjectMeta;
  readonly spec: { readonly hard: Readonly<Record<string, string>> };
}

export type KubernetesObject = Tenant | Namespace | ResourceQuota | ClusterRole | Binding;
export type ObjectKind = KubernetesObject['kind'];

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;

/** The kinds of Stonegate's own objects, by their names. */
export const KINDS: Readonly<Record<ObjectKind, ResourceKind>> = {
  Tenant: { group: '', version: 'v1', resource: 'tenants', namespaced: false },
  Namespace: { group: '', version: 'v1', resource: 'namespaces', namespaced: false },
  ResourceQuota: { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true },
  ClusterRole: { ...RBAC, resource: 'clusterroles', namespaced: false },
  ClusterRoleBinding: { ...RBAC, resource: 'clusterrolebindings', namespaced: false },
  RoleBinding: { ...RBAC, resource: 'rolebindings', namespaced: true },
};

export function isBindingKind({ group, resource }: ResourceKind): boolean {
  return group === RBAC.group && resource.endsWith('bindings');
}

/** @param metadata of an object, or what else has a tenant or a namespace */
export function placeOf({
  tenant,
  namespace,
}: {
  readonly tenant?: string | undefined;
  readonly namespace?: string | undefined;
}): Place {
  return { ...(tenant !== undefined && { tenant }), ...(namespace !== undefined && { namespace }) };
}

/** Identifies an object. */
export function objectKey({ group, resource }: ResourceKind, place: Place, name: string): string {
  const { tenant = '', namespace = '' } = place;
  return [group, resource, tenant, namespace, name].join('/');
}

/** The name of a place in messages: `acme/web`, `acme`, `web`; empty for objects of the whole cluster. */
export function placeName({ tenant, namespace }: Place): string {
  return [tenant, namespace].filter((part) => part !== undefined).join('/');
}
