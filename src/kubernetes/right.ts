/**
 * What Stonegate's own credential needs at the API server. Each feature lists its rights; `stonegate
 * manifests rbac`, the chart and `stonegate check` are made from them.
 */
import { fieldAt } from '../lib/json-object.ts';
import type { PolicyRule } from './kubernetes-object.ts';
import type { GroupResource } from './meta-v1.ts';

/**
 * A right depends on it: a fact of the tenancy mode, such as `tenantsAreObjects`; `constrained`
 * impersonation; or a field of the configuration, such as `access.index`, that is present, and neither false
 * nor empty. A `!` in front negates the condition. The chart's templates evaluate conditions too.
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

/**
 * A path in the configuration, such as `bindings.roles.*.clusterRole`: `*` is every entry of a list or an
 * object. If a value may be written in another form than it is read, a right lists the paths of both forms,
 * since the chart's templates know only what is written.
 */
export type ConfigurationPath = string;

/** A right of the provisioner, which names in the configuration may complete. */
export type ProvisionerRight = NamesRight | KindsRight | GrantsRight;

interface NamesRight extends Pick<Right, 'when' | 'rule'> {
  /** Further `resourceNames`. Without any name there is no rule. */
  readonly namesAt?: readonly ConfigurationPath[];
  /** Names that need no right. */
  readonly except?: readonly string[];
}

/** One rule for each API group. */
interface KindsRight extends Pick<Right, 'when'> {
  readonly kinds: readonly GroupResource[];
  /** Further kinds. */
  readonly kindsAt: readonly ConfigurationPath[];
  readonly verbs: readonly string[];
}

/** The rules of `stonegate:manage` and `access.grantable`: who grants them must hold them. */
interface GrantsRight extends Pick<Right, 'when'> {
  readonly grants: true;
}

/** @returns the rights whose conditions all hold */
export function neededOf<R extends Pick<Right, 'when'>>(rights: readonly R[], given: object): R[] {
  return rights.filter(({ when }) => holdAll(when, given));
}

/** @param given the configuration with the facts of its tenancy mode */
export function holdAll(conditions: readonly Condition[], given: object): boolean {
  return conditions.every((condition) => holds(condition, given));
}

function holds(condition: Condition, given: object): boolean {
  if (condition.startsWith('!')) return !holds(condition.slice(1), given);
  const value = fieldAt(given, ...condition.split('.'));
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

/** The values at a path of the configuration. */
export function valuesAt(configuration: unknown, path: ConfigurationPath): unknown[] {
  let found = [configuration];
  for (const name of path.split('.'))
    found = found
      .flatMap((value) => (name === '*' ? entriesOf(value) : [fieldAt(value, name)]))
      .filter((value) => value !== undefined);
  return found;
}

function entriesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

/** @param resources words, as the verbs */
export function rule(group: string, resources: string, verbs: string): PolicyRule {
  return { apiGroups: [group], resources: resources.split(/\s+/), verbs: verbs.split(/\s+/) };
}

/** Drops rules that another rule includes, so that every printed rule is needed. */
export function withoutCovered<R extends CommentedRule>(rights: readonly R[]): R[] {
  return rights.filter(
    ({ rule }, index) =>
      !rights.some(
        (other, at) =>
          at !== index && includes(other.rule, rule) && (at < index || !includes(rule, other.rule)),
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
