/**
 * CrossTenantPolicy objects, which administrators of tenants write. One counts only if the admission webhook
 * compared it with what its author holds: otherwise who may write the object could grant anything.
 */
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { isEnterable } from '../../kubernetes/reserved-names.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { firstProblem } from '../../lib/parse-json.ts';
import { createRulesCheck } from '../../rbac/granted-rules.ts';
import { InvalidPolicy, invalid } from '../../rbac/invalid-policy.ts';
import type { Policy, WebhookRegistration } from './policy.ts';
import { checkEnd, checkName, endOf, namespacesOf, subjectOf } from './policy-fields.ts';
import { readCrossTenantPolicy } from './read-policy-object.ts';
import { type CrossTenantPolicy, crossTenantPolicySpecSchema } from './tenancy-v1alpha1.ts';

/** Policies of one tenant that count: a guest's request may be compared with all of them. */
export const MAX_POLICIES_PER_TENANT = 100;
/**
 * Namespaces of one tenant's policies together: each is a RoleBinding, which the controller reads and
 * writes.
 */
export const MAX_NAMESPACES_PER_TENANT = 1_000;

/** What a configuration says about CrossTenantPolicies. */
export interface CrossTenantPolicyRules {
  readonly systemTenant: string;
  readonly checkRules: (rules: readonly PolicyRule[], field: string) => void;
}

/** What changes without the object. */
export interface CrossTenantPolicyCircumstances {
  readonly webhook: WebhookRegistration;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * @returns reads a policy; an object is read once, however often it is asked about. It throws InvalidPolicy
 *   if the policy grants nothing.
 */
export function createCrossTenantPolicies(
  rules: CrossTenantPolicyRules,
): (object: CrossTenantPolicy, circumstances: CrossTenantPolicyCircumstances) => Policy {
  const read = memoizeByReference((object: CrossTenantPolicy) => {
    try {
      return policyIn(object, rules);
    } catch (error) {
      if (error instanceof InvalidPolicy) return error;
      throw error;
    }
  });
  return (object, { webhook, now }) => {
    const policy = read(object);
    if (policy instanceof InvalidPolicy) throw policy;
    checkEnd(policy.notAfter, now);
    checkAdmission(object.metadata.creationTimestamp, webhook);
    return policy;
  };
}

/** @throws InvalidPolicy */
function policyIn(
  { metadata: { name, tenant = '' }, spec }: CrossTenantPolicy,
  { systemTenant, checkRules }: CrossTenantPolicyRules,
): Policy {
  if (!isEnterable(tenant, systemTenant)) throw invalid('no policy lets users into this tenant');
  checkName(name);
  const problem = firstProblem(crossTenantPolicySpecSchema, spec, 'spec');
  if (problem !== undefined) throw invalid(problem);
  const subjects = spec.subjects.map((subject, at) => subjectOf(subject, tenant, `spec.subjects[${at}]`));
  const namespaces = namespacesOf(spec.namespaces, 'spec.namespaces');
  const notAfter = endOf(spec.notAfter, 'spec.notAfter');
  checkRules(spec.rules, 'spec.rules');
  return {
    form: 'tenant',
    name,
    source: `crosstenantpolicies/${tenant}/${name}`,
    subjects,
    tenants: new Set([tenant]),
    namespaces,
    rules: spec.rules,
    ...(notAfter !== undefined && { notAfter }),
  };
}

/** Timestamps are in whole seconds: a policy of the second of the registration may be older than it. */
function checkAdmission(created: string | null | undefined, webhook: WebhookRegistration): void {
  if (!webhook.registered)
    throw new InvalidPolicy(
      'AdmissionRequired',
      'the admission webhook is not registered, so nothing has checked what the author may grant',
    );
  const since = parseTimestamp(created ?? '');
  if (since === undefined || since <= webhook.since)
    throw new InvalidPolicy(
      'AdmissionRequired',
      'it is older than the registration of the admission webhook, which checks what the author may grant: create it again',
    );
}

export interface PolicyProblemOptions {
  readonly systemTenant: string;
  /** `access.grantable`; undefined if it is not known: then rules beyond it are not refused here. */
  readonly grantable: readonly PolicyRule[] | undefined;
  readonly clock: Clock;
}

/**
 * The admission webhook uses it: it refuses a policy that would grant nothing, by the same evaluation.
 *
 * @returns says why the object of a tenant grants nothing; undefined if it is valid
 */
export function createPolicyProblem({
  systemTenant,
  grantable,
  clock,
}: PolicyProblemOptions): (object: unknown, tenant: string) => string | undefined {
  const rules = { systemTenant, checkRules: createRulesCheck(grantable) };
  return (object, tenant) => {
    const written = readCrossTenantPolicy(object);
    if (written === undefined) return 'it is no CrossTenantPolicy of a known version';
    try {
      const policy = policyIn({ ...written, metadata: { ...written.metadata, tenant } }, rules);
      checkEnd(policy.notAfter, clock.now());
      return undefined;
    } catch (error) {
      if (error instanceof InvalidPolicy) return error.message;
      throw error;
    }
  };
}

export type PolicyProblemOf = typeof createPolicyProblem;
