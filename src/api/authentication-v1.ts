/**
 * `authentication.k8s.io/v1`: how Kubernetes describes a user, and the review by which a user asks for it.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/
 */
import type { ObjectMeta } from './meta-v1.ts';

export type Extra = Readonly<Record<string, readonly string[]>>;

export interface UserInfo {
  readonly username: string;
  /** Empty where the source knows none. */
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
