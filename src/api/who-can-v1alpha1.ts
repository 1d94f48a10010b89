/**
 * ResourceAccessReview and LocalResourceAccessReview of `stonegate.dev/v1alpha1`: who can do something. The
 * shape is OpenShift's, with the binding and the role of each grant.
 * https://docs.openshift.com/container-platform/latest/rest_api/authorization_apis/resourceaccessreview-authorization-openshift-io-v1.html
 */
import type { ObjectMeta } from './meta-v1.ts';

export type WhoCanKind = 'ResourceAccessReview' | 'LocalResourceAccessReview';

export interface WhoCanSpec {
  readonly verb: string;
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
  /** Of a ResourceAccessReview only. Absent: all namespaces. */
  readonly namespace?: string;
  /** In place of a resource; of a ResourceAccessReview only. */
  readonly path?: string;
  /** Whether the users who hold a Keystone role now are listed. */
  readonly people?: boolean;
}

export interface WhoCanReview {
  readonly kind: WhoCanKind;
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly spec: WhoCanSpec;
  readonly status: WhoCanStatus;
}

export interface WhoCanStatus {
  /** The namespace that was asked about; empty for all, and for what is in none. */
  readonly namespace: string;
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** `system:serviceaccount:NAMESPACE:NAME` */
  readonly serviceAccounts: readonly string[];
  readonly grants: readonly WhoCanGrant[];
  /** How many subjects of other tenants can do it, whose names are not told. */
  readonly otherTenants: number;
  /** Why subjects may be missing: roles that do not exist. Empty if there is no reason. */
  readonly evaluationError: string;
  /** Whether the lists may be out of date or cut. */
  readonly incomplete: boolean;
  readonly incompleteReason?: string;
  /** Of the API server's storage, through which the roles and bindings are known. */
  readonly revision: string;
  readonly warnings: readonly string[];
}

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface WhoCanGrant {
  readonly subject: ObjectName & {
    /** What is known of a Keystone group: `role member on project web`. */
    readonly displayName?: string;
    /** The users who hold the Keystone role now. */
    readonly people?: readonly string[];
  };
  /** `impersonation`: the subject may act as any user. `builtIn`: the API server does not ask RBAC. */
  readonly by: 'binding' | 'builtIn' | 'impersonation';
  /** Whether it is granted in every namespace. */
  readonly everywhere: boolean;
  /** Where it is granted; empty if everywhere, or if the user may not list the bindings there. */
  readonly namespace: string;
  /** Present if it is granted by a binding that the user may list. */
  readonly binding?: ObjectName;
  readonly role?: ObjectName;
}
