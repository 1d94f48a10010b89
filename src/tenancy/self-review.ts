/**
 * Recognises the questions a user may ask about themselves. `kubectl auth can-i` and `kubectl auth whoami` ask
 * them. https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import type { RequestInfo } from '../api/request-info.ts';
import type { SelfReview } from './tenancy-mode.ts';

const REVIEWS: ReadonlyMap<string, SelfReview> = new Map([
  ['authorization.k8s.io/v1/selfsubjectaccessreviews', 'access'],
  ['authorization.k8s.io/v1beta1/selfsubjectaccessreviews', 'access'],
  ['authorization.k8s.io/v1/selfsubjectrulesreviews', 'rules'],
  ['authorization.k8s.io/v1beta1/selfsubjectrulesreviews', 'rules'],
  ['authentication.k8s.io/v1/selfsubjectreviews', 'subject'],
  ['authentication.k8s.io/v1beta1/selfsubjectreviews', 'subject'],
  ['authentication.k8s.io/v1alpha1/selfsubjectreviews', 'subject'],
]);

/** Whether Stonegate reads the request's body itself. */
export function isSelfReview(info: RequestInfo): boolean {
  return selfReviewOf(info) !== undefined;
}

/** @returns undefined where the request is no such question */
export function selfReviewOf(info: RequestInfo): SelfReview | undefined {
  if (!info.isResourceRequest || info.verb !== 'create') return undefined;
  if (info.namespace !== '' || info.name !== '') return undefined;
  return REVIEWS.get(`${info.apiGroup}/${info.apiVersion}/${info.resource}`);
}
