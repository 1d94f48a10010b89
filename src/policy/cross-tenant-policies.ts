/**
 * CrossTenantPolicy objects, which administrators of tenants write. One counts only if the admission webhook
 * compared it with what its author holds: otherwise who may write the object could grant anything.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import { isEnterable } from '../api/reserved-names.ts';
import type { CrossTenantPolicy } from '../api/tenancy-v1alpha1.ts';
import { parseTimestamp } from '../lib/kubernetes-time.ts';
import { InvalidPolicy, invalid } from './invalid-policy.ts';
import type { Policy } from './policy.ts';
import { checkEnd, checkLength, checkName, endOf, namespacesOf, subjectOf } from './policy-fields.ts';
import { isCrossTenantPolicySpec } from './policy-specs.ts';
import type { WebhookRegistration } from './ports.ts';

/** Of one tenant: a guest's request may be compared with all of them. */
export const MAX_POLICIES_PER_TENANT = 100;

export interface CrossTenantPolicyRules {
  readonly systemTenant: string;
  readonly webhook: WebhookRegistration;
  readonly checkRules: (rules: readonly PolicyRule[], field: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * @param tenant `metadata.tenant`
 * @throws InvalidPolicy if it grants nothing
 */
export function crossTenantPolicy(
  { metadata, spec }: CrossTenantPolicy,
  tenant: string,
  { systemTenant, webhook, checkRules, now }: CrossTenantPolicyRules,
): Policy {
  const { name, creationTimestamp } = metadata;
  if (!isEnterable(tenant, systemTenant)) throw invalid('no policy lets users into this tenant');
  checkName(name);
  if (!isCrossTenantPolicySpec(spec)) throw invalid('spec has a field that is missing, wrong or not known');
  checkLength(spec.subjects, 'spec.subjects');
  const subjects = spec.subjects.map((subject, at) => subjectOf(subject, tenant, `spec.subjects[${at}]`));
  const namespaces = namespacesOf(spec.namespaces, 'spec.namespaces');
  const notAfter = endOf(spec.notAfter, 'spec.notAfter');
  checkRules(spec.rules, 'spec.rules');
  checkEnd(notAfter, now);
  checkAdmission(creationTimestamp, webhook);
  return {
    form: 'tenant',
    name,
    source: `crosstenantpolicies/${tenant}/${name}`,
    subjects,
    tenants: new Set([tenant]),
    namespaces,
    rules: spec.rules,
    ...(notAfter !== undefined && { notAfter }),
    configured: false,
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
