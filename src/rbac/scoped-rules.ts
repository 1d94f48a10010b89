/**
 * Cuts an owner's rules to the scope of an access token: what both cover stays, without what escalates and
 * has no word in the scope. A rule cannot say "all but secrets", so a wildcard may be too wide.
 */

import type { Question, ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { TokenScope } from '../kubernetes/token-scope.ts';
import { CLUSTER_ROLES } from './cluster-roles.ts';
import { escalatingParts } from './escalating.ts';
import { intersectionOf, WILDCARD } from './rules.ts';

/** @returns why the token does not allow what is asked; undefined if it does, or if there is no token */
export function outsideReason(scope: TokenScope | undefined, question: Question): string | undefined {
  if (scope === undefined) return undefined;
  const isInside = 'path' in question ? scope.allows(question) : allowsAll(scope, question);
  return isInside ? undefined : outsideScopeText(scope);
}

/** For users, without a full stop. */
export function outsideScopeText({ id, described }: TokenScope): string {
  return `the access token ${id} does not allow it: its scopes are ${described}`;
}

/** Why the rules are incomplete if `isTooWide` is set: for users, without a full stop. */
export const TOO_WIDE =
  "the access token does not allow all that * matches: of that only Kubernetes' own kinds are listed";

/**
 * What the rules of one document may still cost: about the characters that are compared and written, each of
 * which takes some thirty nanoseconds. A short rule can stand for hundreds of thousands of single grants (one
 * verb, API group and resource with its names), and a document can have very many rules.
 */
export interface RulesBudget {
  left: number;
  /** Whether a rule was left out because it costs more than is left. */
  isExceeded: boolean;
  /** Whether a wildcard was left out because the scope of an access token has not all that it stands for. */
  isTooWide: boolean;
}

/** Some 25,000 single grants. */
const MAX_COST = 2 * 1024 * 1024;

export function createRulesBudget(): RulesBudget {
  return { left: MAX_COST, isExceeded: false, isTooWide: false };
}

/** @returns whether the budget had as much left, which is spent now */
export function take(budget: RulesBudget, cost: number): boolean {
  const isLeft = cost <= budget.left;
  if (isLeft) budget.left -= cost;
  else budget.isExceeded = true;
  return isLeft;
}

type Place = Pick<ResourceQuestion, 'namespace' | 'tenant'>;

/** What it costs to compare two rules, beside their texts, and one text. */
const RULES_COST = 32;
const TEXT_COST = 2;
/** What it costs to compare a rule with those that escalate, and a single grant with them and the scope. */
const ESCALATION_COST = 256;
const GRANT_COST = 512;
/** What is listed in place of a wildcard that is too wide. */
const KNOWN_KINDS = CLUSTER_ROLES.get('stonegate:manage') ?? [];

/** @returns a function that cuts one of the owner's rules */
export function createScopeCut(
  scope: TokenScope,
  place: Place,
  budget: RulesBudget,
): (rule: PolicyRule) => readonly PolicyRule[] {
  const covered = scope.rulesIn(place.namespace);
  const grantCost = GRANT_COST + TEXT_COST * covered.length;
  const counted = { allows: (question: Question) => take(budget, grantCost) && scope.allows(question) };

  function sharedBy(rule: PolicyRule, others: readonly PolicyRule[]): PolicyRule[] {
    const shared: PolicyRule[] = [];
    for (const other of others) {
      if (!take(budget, RULES_COST + TEXT_COST * (textsOf(rule) + textsOf(other)))) break;
      const both = intersectionOf(rule, other);
      if (both !== undefined) shared.push(both);
    }
    return shared;
  }

  function withoutEscalation(rule: PolicyRule): readonly PolicyRule[] {
    if (!take(budget, ESCALATION_COST + 2 * TEXT_COST * textsOf(rule) + charactersOf(rule))) return [];
    if (escalatingParts(rule).length === 0) return [rule];
    const left: PolicyRule[] = [];
    for (const question of questionsOf(rule, place)) {
      if (!take(budget, grantCost)) break;
      if (!scope.allows(question)) continue;
      const grant = ruleOf(question);
      if (allowsWildcards(counted, question)) left.push(grant);
      else {
        budget.isTooWide = true;
        left.push(...sharedBy(grant, KNOWN_KINDS).flatMap(withoutEscalation));
      }
    }
    return left;
  }

  return (rule) => sharedBy(rule, covered).flatMap(withoutEscalation);
}

function textsOf({ verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule): number {
  return verbs.length + apiGroups.length + resources.length + resourceNames.length;
}

function charactersOf({ verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule): number {
  return [verbs, apiGroups, resources, resourceNames].flat().reduce((sum, { length }) => sum + length, 0);
}

function allowsAll(scope: TokenScope, question: ResourceQuestion): boolean {
  return scope.allows(question) && allowsWildcards(scope, question);
}

/** Whether a scope that allows the question allows everything that its wildcards stand for. */
function allowsWildcards(scope: Pick<TokenScope, 'allows'>, question: ResourceQuestion): boolean {
  const { verb, apiGroup, resource } = question;
  if (![verb, apiGroup, resource].includes(WILDCARD)) return true;
  const parts = escalatingParts(ruleOf(question)).flatMap((part) => [...questionsOf(part, question)]);
  return parts.every((part) => scope.allows(part));
}

function ruleOf({ verb, apiGroup, resource, subresource, name }: ResourceQuestion): PolicyRule {
  const kind = subresource === '' ? resource : `${resource}/${subresource}`;
  const named = name !== WILDCARD && { resourceNames: [name] };
  return { verbs: [verb], apiGroups: [apiGroup], resources: [kind], ...named };
}

/** The single grants of a rule. Wildcards are not resolved: only a wildcard of a scope covers them. */
function* questionsOf(
  { verbs, apiGroups = [], resources = [], resourceNames }: PolicyRule,
  { namespace, tenant }: Place,
): Generator<ResourceQuestion> {
  // No object has the name `*`: it stands for all.
  const names = resourceNames?.filter((name) => name !== WILDCARD) ?? [WILDCARD];
  for (const verb of verbs)
    for (const apiGroup of apiGroups)
      for (const kind of resources)
        for (const name of names) {
          const [resource = '', ...rest] = kind.split('/');
          yield { verb, apiGroup, resource, subresource: rest.join('/'), namespace, name, tenant };
        }
}
