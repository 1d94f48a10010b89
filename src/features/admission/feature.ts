/**
 * Admission: what the proxy refuses in requests to Arktos before they are forwarded, and the admission
 * webhook of a configuration. The webhook is ready as soon as it listens, whatever the state of the proxy and
 * of the API server: without the API server only what needs a review of rights is refused.
 */
import type { Build } from '../../config/build.ts';
import { ComponentType } from '../../config/component.ts';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { createAccessReviewer, reviewOf } from '../../kubernetes/access-reviewer.ts';
import { publishedKindsOf } from '../../kubernetes/published-objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { createReviewLimits, type ReviewLimits } from '../../limits/review-limits.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { ProxyParts } from '../build.ts';
import { createPolicyProblem } from '../cross-tenant/feature.ts';
import { createTenantAdmission } from '../tenancy-mode.ts';
import { createAccessReviewsRule } from './access-reviews.ts';
import { createAdmissionReviewer } from './admission-reviewer.ts';
import { createAdmissionWebhook, type ReviewRule } from './admission-webhook.ts';
import { createDefinitionScopeRule } from './definition-scope.ts';
import { podSecurityRuleOf } from './pod-security.ts';
import { createReviewDecision } from './review-decision.ts';
import { createRightsReview, type IsAllowed } from './rights-review.ts';
import { createRoleBindingsRule } from './role-bindings.ts';
import { scaleTenantRule } from './scales.ts';
import { watchListAdmission } from './watch-list.ts';

export { type AdmissionReview, encodeAdmissionReview, readAdmissionReview } from './admission-review.ts';
export { describe, type Judged, type Reviewed, unreviewed } from './admission-reviewer.ts';
export type { ReviewRule } from './admission-webhook.ts';

/** The proxy refuses these requests, because the API server of the tenancy mode would not. */
export function createAdmission({ mode, reviewer }: Pick<ProxyParts, 'mode' | 'reviewer'>): Feature {
  const isConfined = (tenant: TenantName) =>
    mode.reviewTenant(tenant) !== undefined && !mode.isSystem(tenant);
  return {
    admission: mode.watchLists === 'refused' ? [watchListAdmission] : [],
    bodyRules: [
      createAccessReviewsRule({ isConfined }),
      ...(mode.readsTenantFromPath ? [createDefinitionScopeRule(mode), scaleTenantRule] : []),
      createRoleBindingsRule({
        isConfined,
        review({ user, sender, tenant, account, signal }, right) {
          const home = mode.reviewTenant(tenant);
          const resourceAttributes = { ...right, ...(home !== undefined && { tenant: home }) };
          return reviewOf(reviewer, { user, sender, home, account }, { resourceAttributes }, signal);
        },
      }),
    ],
  };
}

/** The sections that the webhook reads; the configuration of a webhook process has no others. */
export interface AdmissionSource extends Pick<LoadedConfiguration, 'file'> {
  readonly configuration: Pick<StonegateConfiguration, 'tenancy' | 'admission' | 'publishing'> &
    Partial<Pick<StonegateConfiguration, 'access'>>;
}

export interface AdmissionBuild extends Omit<Build, 'loaded'> {
  readonly loaded: AdmissionSource;
}

const LIMITS = new ComponentType<ReviewLimits>('limits of the admission webhook');
const RIGHTS_REVIEW = new ComponentType<IsAllowed>('access reviews of the admission webhook');

/**
 * @param upstream where the rights of users are reviewed; undefined if no API server is configured
 * @param others rules of other features, at paths of their own
 * @returns undefined if no admission webhook is configured
 */
export function createConfiguredAdmission(
  { loaded, generation, runtime }: AdmissionBuild,
  upstream: Upstream | undefined,
  others: readonly ReviewRule[],
): ((exchange: Exchange) => Promise<void>) | undefined {
  const { admission, tenancy, publishing, access } = loaded.configuration;
  if (admission === undefined) return undefined;
  const { systemUsers, systemNamespaces } = admission;
  const limits = generation.component(LIMITS, {
    fingerprint: [admission.limits],
    create: () => createReviewLimits({ ...admission.limits, ...runtime }),
  });
  const tenants = createTenantAdmission(tenancy, { users: systemUsers, namespaces: systemNamespaces });
  const decide = createReviewDecision({
    ...admission,
    tenants,
    podSecurity: podSecurityRuleOf(admission.podSecurity, tenancy.mode),
    isArktos: tenancy.mode === 'arktos',
    policyProblem: createPolicyProblem({ ...tenancy, grantable: access?.grantable, clock: runtime.clock }),
    publishedKinds: new Set(
      publishedKindsOf(publishing).map(({ group, resource }) => `${group}/${resource}`),
    ),
  });
  const isAllowed = generation.component(RIGHTS_REVIEW, {
    fingerprint: [upstream === undefined],
    uses: [upstream],
    create: () => createRightsReview({ ...runtime, reviewer: upstream && reviewerAt(upstream) }),
  });
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
