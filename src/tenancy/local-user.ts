/**
 * Qualifies the names of local users. If the API server reads the tenant from the user's name, the name as it
 * is given is enough; otherwise name and groups contain the tenant.
 */
import type { TenancyFacts } from './facts.ts';
import type { Identity, LocalSubject, QualifiedIdentity } from './identity.ts';

type Facts = Pick<TenancyFacts, 'readsTenantFromName'>;

/** @returns the same identity with a local user's name and groups qualified, and without an access token */
export function qualified({ accessToken: _, ...identity }: Identity, facts: Facts): QualifiedIdentity {
  if ('groups' in identity) return identity;
  const { subject, tenantOrigin } = identity;
  const { name, groups } = qualifiedNames(subject, tenantOrigin.tenant, facts);
  return { ...identity, subject: { kind: 'claim', name }, groups };
}

/** A local user's name and groups with their prefixes and, unless the API server reads it, the tenant. */
export function qualifiedNames(
  { usernamePrefix, groupsPrefix, name, groups }: Omit<LocalSubject, 'kind'>,
  tenant: string,
  { readsTenantFromName }: Facts,
): Pick<LocalSubject, 'name' | 'groups'> {
  const within = readsTenantFromName ? '' : `${tenant}:`;
  return {
    name: `${usernamePrefix}${within}${name}`,
    groups: [...new Set(groups.map((group) => `${groupsPrefix}${within}${group}`))],
  };
}
