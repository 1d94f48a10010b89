/** AdmissionReviews as API servers post them, and the decision about them. */
import { createAdmissionReviewer } from '../../src/features/admission/admission-reviewer.ts';
import type { PolicyProblem } from '../../src/features/admission/cross-tenant-policies.ts';
import { type PodSecurityRule, podSecurityRuleOf } from '../../src/features/admission/pod-security.ts';
import type { Right } from '../../src/features/admission/required-rights.ts';
import { createReviewDecision, type ReviewDecision } from '../../src/features/admission/review-decision.ts';
import type { AdmissionRequest } from '../../src/kubernetes/admission-v1.ts';
import { publishedKindsOf } from '../../src/kubernetes/published-objects.ts';
import { createTenantAdmission, type TenantAdmission } from '../../src/tenancy/admission-tenants.ts';
import { TENANCY_FACTS, type TenancyModeName } from '../../src/tenancy/facts.ts';

export const ALICE = { username: 'acme:alice', groups: ['stonegate:tenant:acme', 'system:authenticated'] };
export const ADMIN = { username: 'admin', groups: ['system:masters', 'system:authenticated'] };

export function admissionRequest(changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'fe256906-1182-4106-9916-9dba6d4f716b',
    operation: 'CREATE',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    name: '',
    namespace: 'default',
    user: ALICE,
    isDryRun: false,
    object: undefined,
    oldObject: undefined,
    ...changes,
  };
}

/** An AdmissionReview as an API server posts it. */
export function admissionReview(request: AdmissionRequest, version = 'v1'): object {
  const { group, version: of, resource, subresource, user, object, oldObject, ...rest } = request;
  const gvr = { group, version: of, resource };
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      ...rest,
      resource: gvr,
      requestResource: gvr,
      ...(subresource !== '' && { subResource: subresource }),
      userInfo: user,
      object: object ?? null,
      oldObject: oldObject ?? null,
      dryRun: false,
      options: null,
    },
  };
}

interface DecisionOptions {
  readonly mode?: TenancyModeName;
  readonly rule?: Partial<PodSecurityRule>;
  readonly exceptions?: Readonly<Record<string, Partial<Omit<PodSecurityRule, 'version'>>>>;
  readonly systemKinds?: readonly string[];
  readonly nodeLabels?: readonly string[];
  readonly systemUsers?: readonly string[];
  readonly systemNamespaces?: readonly string[];
  readonly policyProblem?: PolicyProblem;
  readonly publishing?: Parameters<typeof publishedKindsOf>[0];
}

function tenantsOf({ mode = 'arktos', ...options }: DecisionOptions): TenantAdmission {
  const users = options.systemUsers ?? ['stonegate', 'stonegate-provisioner'];
  const accounts = { users, namespaces: options.systemNamespaces ?? [] };
  return createTenantAdmission({ facts: TENANCY_FACTS[mode], systemTenant: 'system' }, accounts);
}

/** The decision function with the defaults of the configuration, and with publishing. */
export function decisionOf(options: DecisionOptions = {}): (request: AdmissionRequest) => ReviewDecision {
  const { mode = 'arktos', systemKinds = [], nodeLabels = [] } = options;
  const facts = TENANCY_FACTS[mode];
  return createReviewDecision({
    tenants: tenantsOf(options),
    systemKinds,
    nodeLabels,
    podSecurity: podSecurityRuleOf({ tenants: options.exceptions ?? {}, ...options.rule }, facts),
    facts,
    policyProblem: options.policyProblem ?? (() => undefined),
    publishedKinds: new Set(
      publishedKindsOf(options.publishing ?? { kinds: [], clusterScoped: [] }).map(
        ({ group, resource }) => `${group}/${resource}`,
      ),
    ),
  });
}

export const CALLER = { source: '192.0.2.1', signal: new AbortController().signal };

export interface ReviewerOptions extends DecisionOptions {
  /** Whether the user has the right; rejects if that is unknown. By default users have no rights. */
  readonly holds?: (asked: AskedRight, signal: AbortSignal) => boolean | Promise<boolean>;
}

export interface AskedRight extends Right {
  readonly user: string;
  readonly tenant: string | undefined;
}

/** Decides as the webhook does. */
export function reviewerOf(options: ReviewerOptions = {}) {
  return createAdmissionReviewer({
    decide: decisionOf(options),
    tenants: tenantsOf(options),
    isAllowed: async ({ username }, right, { tenant }, { signal }) =>
      options.holds?.({ ...right, user: username, tenant }, signal) ?? false,
  });
}

/** The response to a request, and the rights of its user that were reviewed. */
export async function verdictOn(
  request: AdmissionRequest,
  holds: (right: AskedRight) => boolean,
  options: Omit<ReviewerOptions, 'holds'> = {},
) {
  const asked: AskedRight[] = [];
  const review = reviewerOf({
    ...options,
    holds(right) {
      asked.push(right);
      return holds(right);
    },
  });
  const { response } = await review(request).complete(CALLER);
  const { allowed, status } = response;
  return { asked, allowed, message: status?.message };
}

/** The paths of the fields for which the request is refused. */
export function refusedPaths({ violations }: ReviewDecision) {
  return violations.map(({ path }) => path);
}
