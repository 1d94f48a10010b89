/**
 * Which Pod Security Standard holds for which tenant, and whether a violation is refused or only told.
 */
import type { PodSecurityLevel } from './pod-security/check.ts';
import type { PodSecurityPolicy, PodSecurityVersion } from './pod-security/evaluate.ts';

export interface PodSecurityRule extends PodSecurityPolicy {
  /** `warn`: the client gets a warning, and the object is stored. */
  readonly mode: 'enforce' | 'warn';
}

export interface PodSecurityRules {
  readonly general: PodSecurityRule;
  /** By tenant. */
  readonly exceptions: ReadonlyMap<string, PodSecurityRule>;
}

const LEVELS: readonly PodSecurityLevel[] = ['privileged', 'baseline', 'restricted'];

/**
 * @returns the rule of a tenant; for an unknown tenant (a service account in shared mode) the strictest of
 * all, since a user could otherwise leave a tenant's rule by one
 */
export function podSecurityRuleOf({
  general,
  exceptions,
}: PodSecurityRules): (tenant: string | undefined) => PodSecurityRule {
  const all = [general, ...exceptions.values()];
  const strictest = all.reduce((one, other) => (strictness(other) > strictness(one) ? other : one));
  return (tenant) => (tenant === undefined ? strictest : (exceptions.get(tenant) ?? general));
}

/** What is refused counts more than what is told; an older version allows less. */
function strictness({ level, mode, version }: PodSecurityRule): number {
  const enforced = mode === 'enforce' && level !== 'privileged' ? 10_000 : 0;
  return enforced + LEVELS.indexOf(level) * 1_000 - minorOf(version);
}

function minorOf({ minor }: PodSecurityVersion): number {
  return minor;
}
