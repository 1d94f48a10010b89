/**
 * Why RBAC does not allow a request although the user has roles there: rules that nearly cover it, and roles
 * that are empty because their aggregation is not filled in. And from which cluster role an aggregated rule
 * came.
 */

import type { ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { LabelSelector, StoredRole } from '../kubernetes/rbac-v1.ts';
import type { RBACUser } from './attributes.ts';
import { type BoundRole, grantsOf } from './decide.ts';
import { nameMatches, resourceMatches, verbMatches } from './rules.ts';
import type { TenantObjects } from './tenant-objects.ts';

export interface NearMiss extends BoundRole {
  /** `empty`: the role is aggregated, and no controller has filled in its rules. */
  readonly missed: 'verb' | 'subresource' | 'name' | 'empty';
  /** Absent if the role is empty. */
  readonly rule?: PolicyRule;
}

const MAX_MISSES = 3;
/** Rules that are compared: a user may have very many. */
const MAX_RULES = 10_000;
/** The nearest first. */
const ORDER: readonly NearMiss['missed'][] = ['name', 'subresource', 'verb', 'empty'];

/** Returns at most three, the nearest first. */
export function nearMisses(
  objects: TenantObjects,
  user: RBACUser,
  question: ResourceQuestion,
): readonly NearMiss[] {
  const found: NearMiss[] = [];
  let compared = 0;
  for (const bound of grantsOf(objects, user, question.namespace, new Set())) {
    const { rules, aggregates } = bound.role;
    if (rules.length === 0 && aggregates !== undefined) found.push({ ...bound, missed: 'empty' });
    for (const rule of rules) {
      compared += 1;
      if (compared > MAX_RULES) return nearest(found);
      const missed = missOf(rule, question);
      if (missed !== undefined) found.push({ ...bound, missed, rule });
    }
  }
  return nearest(found);
}

function nearest(found: readonly NearMiss[]): readonly NearMiss[] {
  return found
    .toSorted((one, other) => ORDER.indexOf(one.missed) - ORDER.indexOf(other.missed))
    .slice(0, MAX_MISSES);
}

/** What alone keeps the rule from covering the request. */
function missOf(rule: PolicyRule, question: ResourceQuestion): NearMiss['missed'] | undefined {
  const verb = verbMatches(rule, question.verb);
  const name = nameMatches(rule, question.name);
  if (resourceMatches(rule, question)) {
    if (verb && !name) return 'name';
    return !verb && name ? 'verb' : undefined;
  }
  const parent = { ...question, subresource: '' };
  return question.subresource !== '' && verb && name && resourceMatches(rule, parent)
    ? 'subresource'
    : undefined;
}

/**
 * The cluster roles from which an aggregated role has the rule, as the aggregation controller selects them.
 *
 * @returns empty for a role that is not aggregated
 */
export function aggregatedFrom(
  objects: TenantObjects,
  role: StoredRole,
  rule: PolicyRule,
): readonly StoredRole[] {
  const { aggregates } = role;
  if (aggregates === undefined) return [];
  const text = JSON.stringify(rule);
  return [...objects.roles]
    .filter(({ resource, name, labels, rules }) => {
      if (resource !== 'clusterroles' || name === role.name) return false;
      if (!aggregates.some((selector) => selects(selector, labels))) return false;
      return rules.some((candidate) => JSON.stringify(candidate) === text);
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** An empty selector selects everything. */
function selects(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  if (Object.entries(matchLabels).some(([key, wanted]) => value(key) !== wanted)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const found = value(key);
    switch (operator) {
      case 'In':
        return found !== undefined && values.includes(found);
      case 'NotIn':
        return found === undefined || !values.includes(found);
      case 'Exists':
        return found !== undefined;
      case 'DoesNotExist':
        return found === undefined;
      default:
        return false;
    }
  });
}
