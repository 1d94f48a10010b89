/**
 * The admission webhook of a configuration. It is ready as soon as it listens, whatever the state of the
 * proxy and of the API server: without the API server only what needs a review of rights is refused.
 */

import type { Build } from '../../config/build.ts';
import { ComponentType } from '../../config/component.ts';
import type {
  AdmissionConfiguration,
  PodSecurityConfiguration,
  StonegateConfiguration,
  TenancyConfiguration,
} from '../../config/configuration.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { createAccessReviewer } from '../../kubernetes/access-reviewer.ts';
import { publishedKindsOf } from '../../kubernetes/published-objects.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { createReviewLimits, type ReviewLimits } from '../../limits/review-limits.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { createPolicyProblem } from '../cross-tenant/feature.ts';
import { createTenantAdmission } from '../tenancy-mode.ts';
import { createAdmissionAccess, noAdmissionAccess } from './admission-access.ts';
import { createAdmissionWebhook } from './admission-webhook.ts';
import { podSecurityVersion } from './pod-security/evaluate.ts';
import { type PodSecurityRule, podSecurityRulesOf } from './pod-security-rules.ts';
import type { AccessReview } from './ports.ts';
import { createReviewDecision } from './review-decision.ts';
import { createAdmissionReviewer } from './reviewer.ts';

/** What is read of a configuration; a process that serves nothing else has no more. */
export interface AdmissionSource extends Pick<LoadedConfiguration, 'file'> {
  readonly configuration: Pick<StonegateConfiguration, 'tenancy' | 'admission' | 'publishing'> &
    Partial<Pick<StonegateConfiguration, 'access'>>;
}

export interface AdmissionBuild extends Omit<Build, 'loaded'> {
  readonly loaded: AdmissionSource;
}

const LIMITS = new ComponentType<ReviewLimits>('limits of the admission webhook');

/**
 * @param upstream where the rights of users are reviewed; undefined if no API server is configured
 * @returns undefined if no admission webhook is configured
 */
export function createConfiguredAdmission(
  { loaded, generation, runtime }: AdmissionBuild,
  upstream: Upstream | undefined,
): ((exchange: Exchange) => Promise<void>) | undefined {
  const { admission, tenancy, publishing, access } = loaded.configuration;
  if (admission === undefined) return undefined;
  const { systemUsers, systemNamespaces, systemKinds, nodeLabels } = admission;
  const limits = generation.component(LIMITS, {
    fingerprint: [admission.limits],
    create: () => createReviewLimits({ ...admission.limits, ...runtime }),
  });
  const tenants = createTenantAdmission(tenancy, { users: systemUsers, namespaces: systemNamespaces });
  const decide = createReviewDecision({
    tenants,
    systemKinds,
    nodeLabels,
    podSecurity: podSecurityRulesOf(rulesOf(admission, tenancy)),
    isArktos: tenancy.mode === 'arktos',
    policyProblem: createPolicyProblem({ ...tenancy, grantable: access?.grantable, clock: runtime.clock }),
    publishedKinds: new Set(
      publishedKindsOf(publishing).map(({ group, resource }) => `${group}/${resource}`),
    ),
  });
  const reviews =
    upstream === undefined ? noAdmissionAccess : createAccess({ generation, runtime }, upstream);
  const review = createAdmissionReviewer({ decide, tenants, access: reviews });
  return createAdmissionWebhook({ ...runtime, review, limits });
}

const ACCESS = new ComponentType<AccessReview>('access reviews of the admission webhook');

/**
 * Posted to the short path: Arktos judges the tenant that the review names, and nothing of an object under
 * admission is in a path.
 */
function createAccess(
  { generation, runtime }: Pick<AdmissionBuild, 'generation' | 'runtime'>,
  fetcher: Upstream,
): AccessReview {
  return generation.component(ACCESS, {
    fingerprint: [],
    uses: [fetcher],
    create: () => {
      const reviewer = createAccessReviewer({
        fetcher,
        path: (_tenant, resource) => `/apis/authorization.k8s.io/v1/${resource}`,
      });
      return createAdmissionAccess({ ...runtime, reviewer });
    },
  });
}

function rulesOf({ podSecurity }: AdmissionConfiguration, { mode }: TenancyConfiguration) {
  const { tenants, ...given } = podSecurity;
  const general = { ...DEFAULT_POD_SECURITY[mode], ...given };
  const exceptions = Object.entries(tenants).map(
    ([tenant, changes]) => [tenant, ruleOf({ ...general, ...changes })] as const,
  );
  return { general: ruleOf(general), exceptions: new Map(exceptions) };
}

/** In shared mode the API server's own PodSecurity admission exists, and no level means no rule. */
const DEFAULT_POD_SECURITY = {
  arktos: { level: 'baseline', version: 'v1.15', mode: 'enforce' },
  shared: { level: 'privileged', version: 'latest', mode: 'enforce' },
} as const satisfies Readonly<Record<TenancyConfiguration['mode'], Required<PodSecurityConfiguration>>>;

function ruleOf({ level, version: name, mode }: Required<PodSecurityConfiguration>): PodSecurityRule {
  const version = podSecurityVersion(name);
  // Loading refuses such a configuration.
  if (version === undefined) throw new Error(`${name} is no version of the Pod Security Standards`);
  return { level, version, mode };
}
