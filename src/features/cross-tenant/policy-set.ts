/**
 * Sets of policies, in which those for a request are found by the user's tenant and the tenant to enter; and
 * the set in force, for parts that outlive a change of it.
 */

import type { Entry, Permit, Policies, PolicyAttributes, PolicyReference } from '../../proxy/tenant-entry.ts';
import { roleAllows } from '../../rbac/rules.ts';
import type { Policy, PolicySubject } from './policy.ts';

const EVERY = '*';

/** The subjects of a policy that are in one tenant. */
interface Subjects {
  /** The names of users, `*` for every one, who match without a group. */
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** A user and a group, which must both match. */
  readonly both: readonly { readonly user: string; readonly group: string }[];
}

/** A policy for the users of one tenant, as decisions return it. */
interface Candidate {
  readonly subjects: Subjects;
  readonly policy: Policy;
  readonly reference: PolicyReference;
  readonly permit: Permit;
}

/** The user's tenant → the tenant to enter → in the order of the policies. */
type Candidates = ReadonlyMap<string, ReadonlyMap<string, readonly Candidate[]>>;

/** @param policies by form and name, as `resolve.ts` orders them */
export function createPolicySet(policies: readonly Policy[]): Policies {
  const candidates = candidatesOf(policies);

  function* admitting(entry: Entry, now: number): Generator<Candidate> {
    if (entry.home === entry.tenant) return;
    for (const candidate of candidates.get(entry.home)?.get(entry.tenant) ?? []) {
      const { notAfter } = candidate.policy;
      if (notAfter !== undefined && notAfter <= now) continue;
      if (matches(candidate.subjects, entry)) yield candidate;
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
    const decision = decisionOf(policy);
    for (const [home, subjects] of Map.groupBy(policy.subjects, ({ tenant }) => tenant)) {
      const candidate = { ...decision, subjects: subjectsOf(subjects) };
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

function decisionOf(policy: Policy): Omit<Candidate, 'subjects'> {
  const { form, name, source, notAfter } = policy;
  const reference = { form, name, source };
  return { policy, reference, permit: { policy: reference, ...(notAfter !== undefined && { notAfter }) } };
}

/** A subject without user and group matches no user. */
function subjectsOf(subjects: readonly PolicySubject[]): Subjects {
  const users = new Set<string>();
  const groups = new Set<string>();
  const both: { user: string; group: string }[] = [];
  for (const { user, group } of subjects) {
    if (user !== undefined && group !== undefined) both.push({ user, group });
    else if (user !== undefined) users.add(user);
    else if (group !== undefined) groups.add(group);
  }
  return { users, groups, both };
}

/** Names are compared exactly. */
function matches({ users, groups, both }: Subjects, entry: Entry): boolean {
  return (
    users.has(EVERY) ||
    users.has(entry.name) ||
    (groups.size > 0 && entry.groups.some((group) => groups.has(group))) ||
    both.some(({ user, group }) => (user === EVERY || user === entry.name) && entry.groups.includes(group))
  );
}

function allows(policy: Policy, attributes: PolicyAttributes, tenant: string): boolean {
  if (!attributes.isResourceRequest) return true;
  const { verb, apiGroup, resource, subresource, namespace, name } = attributes;
  if (policy.namespaces !== 'all' && !policy.namespaces.has(namespace)) return false;
  return roleAllows(policy, { verb, apiGroup, resource, subresource, namespace, name, tenant });
}

export interface PoliciesInForce extends Policies {
  /** Takes effect with the next request. */
  replace(policies: Policies): void;
}

export function createPoliciesInForce(): PoliciesInForce {
  let current = createPolicySet([]);
  return {
    permits: (entry, attributes, now) => current.permits(entry, attributes, now),
    admitting: (entry, now) => current.admitting(entry, now),
    replace(policies) {
      current = policies;
    },
  };
}
