/**
 * `authorization.k8s.io/v1`: access reviews. `tenant` is an addition of Arktos.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */

import type { Extra } from './authentication-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';
import type { TenantName } from './request-info.ts';

export interface ResourceAttributes {
  readonly tenant?: TenantName;
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
}

export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

export interface SubjectAccessReviewSpec {
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Extra;
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

export interface SubjectAccessReview {
  readonly kind: 'SubjectAccessReview' | 'SelfSubjectAccessReview' | 'LocalSubjectAccessReview';
  readonly apiVersion: string;
  readonly metadata?: ObjectMeta;
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface SelfSubjectRulesReview {
  readonly kind: 'SelfSubjectRulesReview';
  readonly apiVersion: string;
  readonly metadata?: ObjectMeta;
  readonly spec: { readonly namespace?: string };
  readonly status?: {
    readonly resourceRules: readonly ResourceRule[];
    readonly nonResourceRules: readonly NonResourceRule[];
    readonly incomplete: boolean;
    readonly evaluationError?: string;
  };
}
