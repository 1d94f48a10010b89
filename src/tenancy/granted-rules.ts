/**
 * What every user of a tenant may do because Stonegate does it for them, whatever their RBAC says: read
 * discovery, and ask who they are and what they may do. Reviews have to say so, or `kubectl auth can-i` would not tell the truth.
 */
import type {
  NonResourceRule,
  ResourceRule,
  SelfSubjectRulesReview,
  SubjectAccessReviewSpec,
} from '../api/authorization-v1.ts';
import { DISCOVERY_URLS, discoveryPath } from './discovery-paths.ts';

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
    return (verb === 'get' || verb === 'head') && discoveryPath(path) !== undefined;
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
