/**
 * Sets of policies, in which those for a request are found by the user's tenant and the tenant to enter; and
 * the set in force, for parts that outlive a change of it.
 */

import type { Entry, Permit, Policies, PolicyAttributes } from '../../proxy/tenant-entry.ts';
import { roleAllows } from '../../rbac/rules.ts';
import type { Policy, PolicySubject } from './policy.ts';

const EVERY = '*';

/** A policy for the users of one tenant in another. */
interface Candidate {
  readonly home: string;
  readonly tenant: string;
  readonly policy: Policy;
  /** The policy's subjects in the home tenant. */
  readonly subjects: readonly PolicySubject[];
  readonly permit: Permit;
}

/** @param policies by form and name, as `resolve.ts` orders them */
export function createPolicySet(policies: readonly Policy[]): Policies {
  const candidates = Map.groupBy(policies.flatMap(candidatesOf), ({ home, tenant }) => `${home}/${tenant}`);

  function* admitting({ home, tenant, name, ...entry }: Entry, now: number): Generator<Candidate> {
    if (home === tenant) return;
    const groups = new Set(entry.groups);
    for (const candidate of candidates.get(`${home}/${tenant}`) ?? []) {
      const { notAfter } = candidate.policy;
      if (notAfter !== undefined && notAfter <= now) continue;
      if (candidate.subjects.some((subject) => matches(subject, name, groups))) yield candidate;
    }
  }

  return {
    permits(entry, attributes, now) {
      for (const { policy, permit } of admitting(entry, now))
        if (allows(policy, attributes, entry.tenant)) return permit;
      return undefined;
    },
    admitting: (entry, now) => [...admitting(entry, now)].map(({ permit }) => permit.policy),
  };
}

function candidatesOf(policy: Policy): Candidate[] {
  const { form, name, source, notAfter, tenants } = policy;
  const permit = { policy: { form, name, source }, ...(notAfter !== undefined && { notAfter }) };
  const byHome = Map.groupBy(policy.subjects, ({ tenant }) => tenant);
  return [...byHome].flatMap(([home, subjects]) =>
    [...tenants].map((tenant) => ({ home, tenant, policy, subjects, permit })),
  );
}

/** Names are compared exactly. A subject without user and group matches no user. */
function matches({ user, group }: PolicySubject, name: string, groups: ReadonlySet<string>): boolean {
  if (user === undefined && group === undefined) return false;
  const isUser = user === undefined || user === EVERY || user === name;
  return isUser && (group === undefined || groups.has(group));
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
