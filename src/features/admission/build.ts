/**
 * Admission: what the proxy refuses in requests to Arktos before they are forwarded, and the admission
 * webhook of a configuration. The webhook is ready as soon as it listens, whatever the state of the proxy and
 * of the API server: without the API server only what needs a review of rights is refused.
 */

import { ComponentType, type Handle } from '../../config/component.ts';
import { createAccessReviewer, reviewOf } from '../../kubernetes/access-reviewer.ts';
import { publishedKindsOf } from '../../kubernetes/published-objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { createReviewLimits, type ReviewLimits } from '../../limits/review-limits.ts';
import type { Feature } from '../../proxy/feature.ts';
import { createTenantAdmission } from '../../tenancy/admission-tenants.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import type { PolicyProblemOf } from '../cross-tenant/feature.ts';
import type { ReviewRule } from '../review-rule.ts';
import { createAccessReviewsRule } from './access-reviews.ts';
import { createAdmissionReviewer } from './admission-reviewer.ts';
import { createAdmissionWebhook } from './admission-webhook.ts';
import { createDefinitionScopeRule } from './definition-scope.ts';
import type { AdmissionParts } from './feature.ts';
import { ADMISSION_REVIEWS } from './metrics.ts';
import { podSecurityRuleOf } from './pod-security.ts';
import { createReviewDecision } from './review-decision.ts';
import { createRightsReview, type IsAllowed } from './rights-review.ts';
import { createRoleBindingsRule } from './role-bindings.ts';
import { scaleTenantRule } from './scales.ts';
import { watchListAdmission } from './watch-list.ts';

/** The proxy refuses these requests, because the API server of the tenancy mode would not. */
export function createAdmission({ mode, reviewer }: Pick<ProxyParts, 'mode' | 'reviewer'>): Feature {
  const { hasTenantsInPaths, comparesBoundRoles } = mode.facts;
  const isConfined = (tenant: TenantName) => !mode.isSystem(tenant);
  const roleBindings = createRoleBindingsRule({
    isConfined,
    review({ user, sender, tenant, account, signal }, right) {
      const home = mode.reviewTenant(tenant);
      const resourceAttributes = { ...right, ...(home !== undefined && { tenant: home }) };
      return reviewOf(reviewer, { user, sender, home, account }, { resourceAttributes }, signal);
    },
  });
  return {
    admission: mode.watchLists === 'refused' ? [watchListAdmission] : [],
    bodyRules: [
      ...(hasTenantsInPaths
        ? [createAccessReviewsRule({ isConfined }), createDefinitionScopeRule(mode), scaleTenantRule]
        : []),
      ...(comparesBoundRoles ? [] : [roleBindings]),
    ],
  };
}

const LIMITS = new ComponentType<ReviewLimits>('limits of the admission webhook');
const RIGHTS_REVIEW = new ComponentType<IsAllowed>('access reviews of the admission webhook');

/**
 * @param upstream where the rights of users are reviewed; undefined if no API server is configured
 * @param others rules of other features, at paths of their own
 * @returns undefined if no admission webhook is configured
 */
export function createConfiguredAdmission(
  { parts, scope, runtime }: Pick<FeatureBuild<AdmissionParts>, 'parts' | 'scope' | 'runtime'>,
  upstream: Handle<Upstream> | undefined,
  others: readonly ReviewRule[],
  policyProblemOf: PolicyProblemOf,
): ((exchange: Exchange) => Promise<void>) | undefined {
  if (parts.decision === undefined) return undefined;
  const { tenancy, publishing, grantable, systemUsers, systemNamespaces, ...settings } = parts.decision;
  const limits = scope.component(LIMITS, parts.limits, [], (limits) =>
    createReviewLimits({
      ...limits,
      clock: runtime.clock,
      onRefused: () => runtime.telemetry.count(ADMISSION_REVIEWS, { result: 'limited' }),
    }),
  );
  const tenants = createTenantAdmission(tenancy, { users: systemUsers, namespaces: systemNamespaces });
  const decide = createReviewDecision({
    ...settings,
    tenants,
    podSecurity: podSecurityRuleOf(settings.podSecurity, tenancy.facts),
    facts: tenancy.facts,
    policyProblem: policyProblemOf({ ...tenancy, grantable, clock: runtime.clock }),
    publishedKinds: new Set(
      publishedKindsOf(publishing).map(({ group, resource }) => `${group}/${resource}`),
    ),
  });
  const isAllowed = scope.derived(RIGHTS_REVIEW, [upstream], ([upstream]) =>
    createRightsReview({ ...runtime, reviewer: upstream && reviewerAt(upstream) }),
  );
  const review = createAdmissionReviewer({ decide, tenants, isAllowed });
  return createAdmissionWebhook({ ...runtime, review, others, limits });
}

/**
 * Posts reviews to the short path: Arktos judges the tenant that the review names, and no path shows the
 * tenant of an object under admission.
 */
function reviewerAt(fetcher: Upstream) {
  const path = (_tenant: unknown, resource: string) => `/apis/authorization.k8s.io/v1/${resource}`;
  return createAccessReviewer({ fetcher, path });
}
