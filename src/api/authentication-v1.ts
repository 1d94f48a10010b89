/**
 * `authentication.k8s.io/v1`: Kubernetes' description of a user, and the review with which a user requests
 * it.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/
 */
import type { ObjectMeta } from './meta-v1.ts';

export type Extra = Readonly<Record<string, readonly string[]>>;

export interface UserInfo {
  readonly username: string;
  /** Empty if the source has none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Extra;
}

export interface SelfSubjectReview {
  readonly kind: 'SelfSubjectReview';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
  readonly status: { readonly userInfo: Partial<UserInfo> };
}
