/**
 * Recognises the questions a user may ask about themselves. `kubectl auth can-i` and `kubectl auth whoami`
 * ask them. https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import type {
  NonResourceRule,
  ResourceRule,
  SelfSubjectRulesReview,
  SubjectAccessReviewSpec,
} from '../kubernetes/authorization-v1.ts';
import type { RequestInfo } from '../kubernetes/request-info.ts';
import { DISCOVERY_URLS, discoveryRoute } from './discovery-paths.ts';
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

/** @returns undefined if the request is no self review */
export function selfReviewOf(info: RequestInfo): SelfReview | undefined {
  if (!info.isResourceRequest || info.verb !== 'create') return undefined;
  if (info.namespace !== '' || info.name !== '') return undefined;
  return REVIEWS.get(`${info.apiGroup}/${info.apiVersion}/${info.resource}`);
}

const RESOURCE_RULES: readonly (ResourceRule & Required<Pick<ResourceRule, 'apiGroups' | 'resources'>>)[] = [
  {
    verbs: ['create'],
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  },
  { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
  { verbs: ['get'], apiGroups: ['stonegate.dev'], resources: ['selfidentity'] },
];
const NON_RESOURCE_RULES: readonly NonResourceRule[] = [
  { verbs: ['get', 'head'], nonResourceURLs: DISCOVERY_URLS },
];

/** Whether the answer is yes before the API server is asked. */
export function isGranted({ resourceAttributes, nonResourceAttributes }: SubjectAccessReviewSpec): boolean {
  if (nonResourceAttributes !== undefined) {
    const { verb = '', path = '' } = nonResourceAttributes;
    return (verb === 'get' || verb === 'head') && discoveryRoute(path, undefined) !== undefined;
  }
  const { verb = '', group = '', resource = '', subresource = '' } = resourceAttributes ?? {};
  return RESOURCE_RULES.some(
    (rule) =>
      subresource === '' &&
      rule.verbs.includes(verb) &&
      rule.apiGroups.includes(group) &&
      rule.resources.includes(resource),
  );
}

/** The API server's rules, all of them, and ours behind. */
export function withGrantedRules(
  status: NonNullable<SelfSubjectRulesReview['status']>,
): NonNullable<SelfSubjectRulesReview['status']> {
  return {
    ...status,
    resourceRules: [...status.resourceRules, ...RESOURCE_RULES],
    nonResourceRules: [...status.nonResourceRules, ...NON_RESOURCE_RULES],
  };
}
