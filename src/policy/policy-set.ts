/**
 * The policies in force, found by the user's tenant and the tenant to enter. Immutable: another set replaces
 * it.
 */
import { roleAllows } from '../rbac/role-allows.ts';
import type { Policy, PolicyReference, PolicySubject } from './policy.ts';
import type { Entry, Permit, Policies, PolicyAttributes } from './ports.ts';

/** The policies in force, without news of changes. */
export type PolicySet = Omit<Policies, 'onChange'>;

/** A policy, as decisions return it. */
interface Candidate {
  readonly policy: Policy;
  readonly reference: PolicyReference;
  readonly permit: Permit;
}

/** The user's tenant → the tenant to enter → in the order of the policies. */
type Candidates = ReadonlyMap<string, ReadonlyMap<string, readonly Candidate[]>>;

/** @param policies by form and name, as `resolve.ts` orders them */
export function createPolicySet(policies: readonly Policy[]): PolicySet {
  const candidates = candidatesOf(policies);

  function* admitting(entry: Entry, now: number): Generator<Candidate> {
    if (entry.home === entry.tenant) return;
    for (const candidate of candidates.get(entry.home)?.get(entry.tenant) ?? []) {
      const { subjects, notAfter } = candidate.policy;
      if (notAfter !== undefined && notAfter <= now) continue;
      if (subjects.some((subject) => matches(subject, entry))) yield candidate;
    }
  }

  return {
    permits(entry, attributes, now) {
      for (const { policy, permit } of admitting(entry, now))
        if (allows(policy, attributes, entry.tenant)) return permit;
      return undefined;
    },
    admitting: (entry, now) => [...admitting(entry, now)].map(({ reference }) => reference),
  };
}

function candidatesOf(policies: readonly Policy[]): Candidates {
  const found = new Map<string, Map<string, Candidate[]>>();
  for (const policy of policies) {
    const candidate = candidateOf(policy);
    for (const home of new Set(policy.subjects.map(({ tenant }) => tenant))) {
      const byTenant = found.get(home) ?? new Map<string, Candidate[]>();
      found.set(home, byTenant);
      for (const tenant of policy.tenants) {
        const others = byTenant.get(tenant);
        if (others === undefined) byTenant.set(tenant, [candidate]);
        else others.push(candidate);
      }
    }
  }
  return found;
}

function candidateOf(policy: Policy): Candidate {
  const { form, name, source, notAfter } = policy;
  const reference = { form, name, source };
  return { policy, reference, permit: { policy: reference, ...(notAfter !== undefined && { notAfter }) } };
}

/** Names are compared exactly. A subject without user and group matches no one. */
function matches({ tenant, user, group }: PolicySubject, entry: Entry): boolean {
  if (tenant !== entry.home || (user === undefined && group === undefined)) return false;
  if (user !== undefined && user !== '*' && user !== entry.name) return false;
  return group === undefined || entry.groups.includes(group);
}

function allows(policy: Policy, attributes: PolicyAttributes, tenant: string): boolean {
  if (!attributes.isResourceRequest) return true;
  const { verb, apiGroup, resource, subresource, namespace, name } = attributes;
  if (policy.namespaces !== 'all' && !policy.namespaces.has(namespace)) return false;
  return roleAllows(policy, { verb, apiGroup, resource, subresource, namespace, name, tenant });
}
