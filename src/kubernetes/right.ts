/**
 * What Stonegate's own credential needs at the API server. Each feature lists its rights; `stonegate
 * manifests rbac`, the chart and `stonegate check` are made from them.
 */
import type { PolicyRule } from './kubernetes-object.ts';

/** A setting on which a right depends. The chart's templates know them too. */
export type Condition =
  | 'arktos'
  | 'shared'
  | 'tokenReview'
  | 'index'
  | 'quota'
  | 'constrained'
  | 'unconstrained';

export interface CommentedRule {
  /** Why it is needed. */
  readonly comment?: string;
  readonly rule: PolicyRule;
}

export interface Right extends CommentedRule {
  /** All of them must hold. */
  readonly when: readonly Condition[];
  /** Says what fails without the right. Absent for impersonation, which `check` asks about by itself. */
  readonly consequence?: string;
}

export function rule(group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}
