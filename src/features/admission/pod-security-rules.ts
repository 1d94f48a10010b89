/**
 * Which Pod Security Standard holds for which tenant, and whether a violation is refused or only told.
 */
import type { PodSecurityLevel } from './pod-security/check.ts';
import type { PodSecurityPolicy } from './pod-security/evaluate.ts';

export interface PodSecurityRule extends PodSecurityPolicy {
  /** `warn`: the client gets a warning, and the object is stored. */
  readonly mode: 'enforce' | 'warn';
}

export interface PodSecurityRules {
  readonly general: PodSecurityRule;
  /** The rules of tenants that have their own, by tenant. */
  readonly exceptions: ReadonlyMap<string, PodSecurityRule>;
}

const LEVELS: readonly PodSecurityLevel[] = ['privileged', 'baseline', 'restricted'];

/**
 * @returns the rules of a tenant, at least one, all of one mode. A known tenant has one. For an unknown
 * tenant (a service account in shared mode) all that are enforced hold, since a user could otherwise leave a
 * tenant's rule by one; if none is enforced, all that warn
 */
export function podSecurityRulesOf({
  general,
  exceptions,
}: PodSecurityRules): (tenant: string | undefined) => readonly PodSecurityRule[] {
  const all = [general, ...exceptions.values()];
  const enforced = all.filter(({ level, mode }) => mode === 'enforce' && level !== 'privileged');
  const warned = all.filter(({ mode }) => mode === 'warn');
  const ofUnknown = strictestOfVersions([enforced, warned].find(({ length }) => length > 0) ?? [general]);
  return (tenant) => (tenant === undefined ? ofUnknown : [exceptions.get(tenant) ?? general]);
}

/** Within one version a level refuses what a lower one does. Between versions there is no such order. */
function strictestOfVersions(rules: readonly PodSecurityRule[]): readonly PodSecurityRule[] {
  const strictest = new Map<number, PodSecurityRule>();
  for (const rule of rules) {
    const known = strictest.get(rule.version.minor);
    if (known === undefined || LEVELS.indexOf(rule.level) > LEVELS.indexOf(known.level))
      strictest.set(rule.version.minor, rule);
  }
  return [...strictest.values()];
}
