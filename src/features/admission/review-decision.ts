/**
 * What tenants may create, decided for one request that an API server asks about. Pure: the decision depends
 * on the review and the configuration alone. For a few kinds it says what the user must hold besides, which
 * `reviewer.ts` has reviewed.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { arktosFieldViolations } from './arktos-pod-fields.ts';
import { isBinding, requiredToBind } from './binding-rights.ts';
import { newViolations } from './changed-fields.ts';
import { isCrossTenantPolicy, judgePolicy, type PolicyProblem } from './cross-tenant-policies.ts';
import { definitionScopeViolations, isDefinition } from './definition-scope.ts';
import { bindingViolations, isNodeBinding, nodeSelectionViolations } from './node-selection.ts';
import { ObjectReader } from './object-reader.ts';
import { hasStorableAnnotations, isWithinNodes } from './object-size.ts';
import { ownObjectViolations } from './own-objects.ts';
import { persistentVolumeViolations } from './persistent-volumes.ts';
import { type PodPart, podPartOf } from './pod-part.ts';
import {
  type PodSecurityViolation,
  podSecurityMessage,
  podSecurityViolations,
} from './pod-security/evaluate.ts';
import type { PodSecurityRule } from './pod-security-rules.ts';
import type { AdmissionTenants, ReviewedTenant } from './ports.ts';
import { requiredToPublish } from './published-objects.ts';
import type { RequiredAccess } from './required-access.ts';
import { createSystemKinds } from './system-kinds.ts';
import type { Violation } from './violation.ts';

export interface ReviewDecisionOptions {
  readonly tenants: AdmissionTenants;
  /** Further kinds of the system, as kubectl names them. */
  readonly systemKinds: readonly string[];
  /** Labels of nodes that tenants may select by. */
  readonly nodeLabels: readonly string[];
  /** At least one rule; all are of one mode. */
  readonly podSecurity: (tenant: string | undefined) => readonly PodSecurityRule[];
  /** Arktos: pods have more fields, and bindings are not compared with the roles of the tenant. */
  readonly isArktos: boolean;
  /** Kinds whose objects are published to tenants, as `group/resource`. */
  readonly publishedKinds: ReadonlySet<string>;
  /** Validates a CrossTenantPolicy by the evaluation with which policies count. */
  readonly policyProblem: PolicyProblem;
}

export interface ReviewDecision {
  readonly tenant: string | undefined;
  /** Why the request is refused; empty if it is allowed. */
  readonly violations: readonly Violation[];
  /** What the user must hold; empty if there are violations. */
  readonly required: readonly RequiredAccess[];
  /** Violations of the Pod Security Standards in their own words, with the fields. */
  readonly security: SecurityVerdict | undefined;
}

export interface SecurityVerdict {
  readonly refused: boolean;
  readonly message: string;
  readonly violations: readonly Violation[];
}

/** Values of a pod's spec; an ordinary one has some hundred. The worst take up to 30 µs each to judge. */
const MAX_SPEC_NODES = 5_000;
/** Subresources through which the spec of a pod changes. Their object is the pod. */
const POD_SUBRESOURCES: ReadonlySet<string> = new Set(['', 'ephemeralcontainers', 'resize']);

export function createReviewDecision(
  options: ReviewDecisionOptions,
): (request: AdmissionRequest) => ReviewDecision {
  const systemKinds = createSystemKinds(options.systemKinds, options.isArktos);
  return (request) => {
    const reviewed = options.tenants.reviewedTenant(request);
    const access = accessJudgement(request, reviewed, options);
    const violations = [
      ...systemKinds(request, reviewed),
      ...(reviewed.byTenant ? userViolations(request, options) : []),
      ...access.violations,
    ];
    const required = violations.length > 0 ? [] : access.required;
    const none = { tenant: reviewed.tenant, violations, required, security: undefined };
    const isStored = request.operation === 'CREATE' || request.operation === 'UPDATE';
    if (!reviewed.isTenants || !isStored || violations.length > 0) return none;
    return { ...none, ...contentDecision(request, reviewed, options) };
  };
}

/** What grants rights or publishes, for which the user must hold rights. */
function accessJudgement(
  request: AdmissionRequest,
  reviewed: ReviewedTenant,
  { isArktos, publishedKinds, policyProblem }: ReviewDecisionOptions,
): Pick<ReviewDecision, 'violations' | 'required'> {
  const { group, resource } = request;
  if (isCrossTenantPolicy(request)) return judgePolicy(request, reviewed, policyProblem);
  const bound =
    isArktos && reviewed.byTenant && isBinding(group, resource)
      ? requiredToBind(request)
      : { violations: [], required: [] };
  // Arktos' tenants publish nothing: only objects of the system tenant are copied.
  const publishes = publishedKinds.has(`${group}/${resource}`) && !(isArktos && reviewed.isTenants);
  return {
    violations: bound.violations,
    required: [...bound.required, ...(publishes ? requiredToPublish(request) : [])],
  };
}

/** What depends on the user. */
function userViolations(
  request: AdmissionRequest,
  { tenants: { isSystemNamespace }, publishedKinds }: ReviewDecisionOptions,
): Violation[] {
  const { group, resource, subresource, operation, object } = request;
  if (operation === 'CREATE' && isNodeBinding(group, resource, subresource)) return bindingViolations(object);
  if (group === '' && resource === 'namespaces' && isSystemNamespace(nameOf(request))) {
    const path = 'metadata.name';
    const message = `${path}: tenants may not create or change a namespace of the system`;
    return [{ rule: 'systemNamespaces', path, value: nameOf(request), message }];
  }
  return ownObjectViolations(request, publishedKinds);
}

/** The API server leaves the name out of a request that creates. Before it makes one, its prefix is there. */
function nameOf({ name, object }: AdmissionRequest): string {
  if (name !== '') return name;
  const metadata = new ObjectReader(object, '', []).object('metadata');
  return metadata.text('name') || metadata.text('generateName') || '';
}

/** What the object holds. On an update, only what the old object does not have. */
function contentDecision(
  request: AdmissionRequest,
  { tenant }: ReviewedTenant,
  { nodeLabels, podSecurity, isArktos }: ReviewDecisionOptions,
): Pick<ReviewDecision, 'violations' | 'security'> {
  const { group, resource, subresource, object, oldObject } = request;
  const allowed = { violations: [], security: undefined };
  if (isDefinition(group, resource)) {
    if (subresource !== '') return allowed;
    return { ...allowed, violations: newViolations(definitionScopeViolations, object, oldObject) };
  }
  const rules = podSecurity(tenant);
  if (group === '' && resource === 'persistentvolumes') {
    const security = rules.map((rule) => {
      const evaluate = (one: unknown) => persistentVolumeViolations(one, rule.level, isArktos);
      return securityVerdict(rule, [], newViolations(evaluate, object, oldObject));
    });
    return { ...allowed, security: combined(security) };
  }
  if (!POD_SUBRESOURCES.has(subresource) || podPartOf(group, resource, object) === undefined) return allowed;
  const parts = [object, oldObject].map((one) => podPartOf(group, resource, one));
  if (!parts.every((part) => isWithinNodes(part?.spec, MAX_SPEC_NODES)))
    return {
      ...allowed,
      violations: [tooLarge(`the spec of the pod holds more than ${MAX_SPEC_NODES} values`)],
    };
  if (!parts.every((part) => hasStorableAnnotations(part?.metadata)))
    return { ...allowed, violations: [tooLarge('the annotations of the pod are more than 256 KiB')] };
  const inPod =
    <V extends Violation>(evaluate: (part: PodPart) => V[]) =>
    (one: unknown): V[] => {
      const part = podPartOf(group, resource, one);
      return part === undefined ? [] : evaluate(part);
    };
  const selection = inPod((part) => nodeSelectionViolations(part, { allowedLabels: nodeLabels }));
  const security = rules.map((rule) => {
    const standard = inPod((part) => podSecurityViolations(part, rule));
    const own = inPod((part) => (isArktos ? arktosFieldViolations(part, rule.level) : []));
    return securityVerdict(
      rule,
      newViolations(standard, object, oldObject),
      newViolations(own, object, oldObject),
    );
  });
  return { violations: newViolations(selection, object, oldObject), security: combined(security) };
}

function tooLarge(why: string): Violation {
  return { rule: 'size', path: '', value: undefined, message: `${why}: it is not judged` };
}

/** @param verdicts of rules of one mode */
function combined(verdicts: readonly (SecurityVerdict | undefined)[]): SecurityVerdict | undefined {
  const found = verdicts.filter((verdict) => verdict !== undefined);
  const [first] = found;
  if (first === undefined || found.length === 1) return first;
  return {
    refused: first.refused,
    message: found.map(({ message }) => message).join('; '),
    violations: distinct(found.flatMap(({ violations }) => violations)),
  };
}

function distinct(violations: readonly Violation[]): Violation[] {
  return [...new Map(violations.map((one) => [`${one.rule} ${one.path}`, one])).values()];
}

/** @param others violations of rules beside the standards */
function securityVerdict(
  { level, version, mode }: PodSecurityRule,
  standard: readonly PodSecurityViolation[],
  others: readonly Violation[],
): SecurityVerdict | undefined {
  const violations = [...standard, ...others];
  if (violations.length === 0) return undefined;
  const said = [
    ...(standard.length > 0 ? [podSecurityMessage(standard)] : []),
    ...others.map(({ message }) => message),
  ].join(', ');
  return {
    refused: mode === 'enforce',
    message: `PodSecurity "${level}:${version.name}": ${said}`,
    violations,
  };
}
