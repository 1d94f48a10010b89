/**
 * What tenants may create, decided for one request that an API server asks about. Pure: the decision depends
 * on the review and the configuration alone. For a few kinds it says which rights the user must hold besides,
 * which `rights-review.ts` asks the API server about.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import type { TenantAdmission } from '../../tenancy/admission-tenants.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { arktosFieldViolations, persistentVolumeViolations } from './arktos-pod-fields.ts';
import { isCrossTenantPolicy, judgePolicy, type PolicyProblem } from './cross-tenant-policies.ts';
import { definitionScopeViolations, isDefinition } from './definition-scope.ts';
import { nodeSelectionViolations } from './node-selection.ts';
import { createSystemKinds, ownObjectViolations, storesPrintedRole } from './own-objects.ts';
import { type PodPart, podPartOf, sizeProblem } from './pod-part.ts';
import { type PodSecurityRule, podSecurityViolations } from './pod-security.ts';
import { type Judgement, NO_OBJECTION, requiredToPublish } from './required-rights.ts';
import { isBinding, requiredToBind } from './role-bindings.ts';
import { newViolations, type Violation, violation } from './violation.ts';

export interface ReviewDecisionOptions {
  readonly tenants: Omit<TenantAdmission, 'reviewPlace'>;
  /** Further kinds of the system, as kubectl names them. */
  readonly systemKinds: readonly string[];
  /** Labels of nodes that tenants may select by. */
  readonly nodeLabels: readonly string[];
  readonly podSecurity: (tenant: string | undefined) => PodSecurityRule;
  readonly facts: TenancyFacts;
  /** Kinds whose objects are published to tenants, as `group/resource`. */
  readonly publishedKinds: ReadonlySet<string>;
  /** Validates a CrossTenantPolicy by the evaluation with which policies count. */
  readonly policyProblem: PolicyProblem;
}

/** The rights in `required` matter only without violations. */
export interface ReviewDecision extends Judgement {
  readonly tenant: string | undefined;
  /** Violations of rules that only warn. */
  readonly warnings: readonly Violation[];
}

/** Subresources through which the spec of a pod changes. Their object is the pod. */
const POD_SUBRESOURCES: ReadonlySet<string> = new Set(['', 'ephemeralcontainers', 'resize']);

export function createReviewDecision(
  options: ReviewDecisionOptions,
): (request: AdmissionRequest) => ReviewDecision {
  const { tenants, publishedKinds, facts, policyProblem } = options;
  const systemKinds = createSystemKinds(options.systemKinds, facts);

  /** The user must hold rights to write these objects, since they grant rights or publish. */
  function judgeAccess(request: AdmissionRequest, reviewed: ReturnType<typeof tenants.reviewedTenant>) {
    if (isCrossTenantPolicy(request)) return judgePolicy(request, reviewed, policyProblem);
    const { group, resource } = request;
    const binds = !facts.comparesBoundRoles && reviewed.byTenant && isBinding(group, resource);
    const { violations, required } = binds ? requiredToBind(request) : NO_OBJECTION;
    // Only objects of the operator's tenant are copied, if there is one.
    const publishes =
      publishedKinds.has(`${group}/${resource}`) && !(facts.operatorIsATenant && reviewed.isTenants);
    return { violations, required: [...required, ...(publishes ? requiredToPublish(request) : [])] };
  }

  return (request) => {
    const reviewed = tenants.reviewedTenant(request);
    const { tenant, isTenants, byTenant } = reviewed;
    const access = judgeAccess(request, reviewed);
    const violations = [
      ...systemKinds(request, reviewed),
      ...(byTenant && !(facts.hasTenantsInPaths && storesPrintedRole(request))
        ? ownObjectViolations(request, tenants.isSystemNamespace, publishedKinds)
        : []),
      ...access.violations,
    ];
    const isStored = request.operation === 'CREATE' || request.operation === 'UPDATE';
    if (!isTenants || !isStored || violations.length > 0)
      return { tenant, violations, required: access.required, warnings: [] };
    return { tenant, required: access.required, ...judgeContent(request, tenant, options) };
  };
}

/** Judges what the object holds. On an update, only what the old object does not have. */
function judgeContent(
  { group, resource, subresource, object, oldObject }: AdmissionRequest,
  tenant: string | undefined,
  { nodeLabels, podSecurity, facts: { podsHaveArktosFields } }: ReviewDecisionOptions,
): Pick<ReviewDecision, 'violations' | 'warnings'> {
  const refused = (violations: readonly Violation[]) => ({ violations, warnings: [] });
  const found = (evaluate: (one: unknown) => Violation[]) => newViolations(evaluate, object, oldObject);
  if (isDefinition(group, resource))
    return refused(subresource === '' ? found(definitionScopeViolations) : []);
  const rule = podSecurity(tenant);
  const byRule = (evaluate: (one: unknown) => Violation[]) => {
    const violations = found(evaluate);
    return rule.mode === 'warn' ? { violations: [], warnings: violations } : refused(violations);
  };
  if (group === '' && resource === 'persistentvolumes')
    return byRule((volume) => persistentVolumeViolations(volume, rule.level, podsHaveArktosFields));
  const part = podPartOf(group, resource, object);
  if (part === undefined || !POD_SUBRESOURCES.has(subresource)) return refused([]);
  const before = podPartOf(group, resource, oldObject);
  const problem = sizeProblem(part) ?? (before && sizeProblem(before));
  if (problem !== undefined) return refused([violation('size', '', undefined, problem)]);
  const inPod = (one: unknown, evaluate: (pod: PodPart) => Violation[]) => {
    const pod = one === object ? part : before;
    return pod === undefined ? [] : evaluate(pod);
  };
  const security = byRule((one) =>
    inPod(one, (pod) => [
      ...podSecurityViolations(pod, rule),
      ...(podsHaveArktosFields ? arktosFieldViolations(pod, rule.level) : []),
    ]),
  );
  const selection = found((one) => inPod(one, (pod) => nodeSelectionViolations(pod, nodeLabels)));
  return {
    violations: distinct([...selection, ...security.violations]),
    warnings: distinct(security.warnings),
  };
}

/** Several rules read the same fields, and report those of a wrong type alike. */
function distinct(violations: readonly Violation[]): Violation[] {
  return [...new Map(violations.map((one) => [one.message, one])).values()];
}
