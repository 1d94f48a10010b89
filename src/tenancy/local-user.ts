/**
 * Names for users whom a certificate or a file of the operator names within a tenant. If the API server reads
 * the tenant from the user's name, the name as it is given is enough; otherwise name and groups contain it.
 */
import type { TenancyFacts } from './facts.ts';
import type { Identity, LocalSubject, StoredIdentity } from './identity.ts';

/** @returns the same identity with its name as a claim: the form in which it is stored */
export function asClaim(
  { accessToken: _, ...identity }: Identity,
  facts: Pick<TenancyFacts, 'readsTenantFromName'>,
): StoredIdentity {
  const { subject } = identity;
  if (subject.kind !== 'local') return { ...identity, subject };
  const { name, groups } = namesOf(subject, facts);
  return { ...identity, subject: { kind: 'claim', name }, groups: [...new Set(groups)] };
}

/** The name and the groups with their prefixes. */
export function namesOf(
  { usernamePrefix, groupsPrefix, tenant, name, groups }: Omit<LocalSubject, 'kind'>,
  { readsTenantFromName }: Pick<TenancyFacts, 'readsTenantFromName'>,
): { readonly name: string; readonly groups: readonly string[] } {
  const within = readsTenantFromName ? '' : `${tenant}:`;
  return {
    name: `${usernamePrefix}${within}${name}`,
    groups: groups.map((group) => `${groupsPrefix}${within}${group}`),
  };
}
