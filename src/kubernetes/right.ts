/**
 * What Stonegate's own credential needs at the API server. Each feature lists its rights; `stonegate
 * manifests rbac`, the chart and `stonegate check` are made from them.
 */
import type { PolicyRule } from './kubernetes-object.ts';

/**
 * What a right depends on: a fact of the tenancy mode, such as `tenantsAreObjects`, or after `!` that it is
 * not so; the kind of impersonation; or a field of the configuration, such as `access.index`, that is
 * present, and neither false nor empty. The chart's templates read it too.
 */
export type Condition = string;

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

/** Drops rules that another rule includes, so that every printed rule is needed. */
export function withoutCovered<R extends CommentedRule>(rights: readonly R[]): R[] {
  return rights.filter(
    ({ rule }, at) =>
      !rights.some(
        (other, place) =>
          place !== at && includes(other.rule, rule) && (place < at || !includes(rule, other.rule)),
      ),
  );
}

function includes(larger: PolicyRule, smaller: PolicyRule): boolean {
  return (
    containsAll(larger.apiGroups, smaller.apiGroups) &&
    containsAll(larger.resources, smaller.resources) &&
    containsAll(larger.verbs, smaller.verbs) &&
    (larger.resourceNames === undefined || containsAll(larger.resourceNames, smaller.resourceNames))
  );
}

function containsAll(all: readonly string[] = [], some: readonly string[] | undefined): boolean {
  return some?.every((each) => all.includes(each)) ?? false;
}
