/**
 * Whether what a policy grants is contained in what policies may grant. Each combination of verb, group,
 * resource and name must be allowed by it, as RBAC's escalation check requires of a role's writer.
 */

import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { isPrintable } from '../lib/untrusted-text.ts';
import { type GrantableRule, grantableRules } from './grantable-rules.ts';
import { checkLength, InvalidPolicy, lengthProblem } from './invalid-policy.ts';
import { coveredByRole } from './rules.ts';

/** Combinations of verbs, groups and resources in all rules of a policy: `stonegate:manage` has about 500. */
const MAX_COMBINATIONS = 2_000;

const VERB = /^[a-z]{1,63}$/;
const GROUP = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)?$/;
const RESOURCE = /^[a-z0-9][a-z0-9.-]{0,251}(?:\/[a-z0-9][a-z0-9-]{0,62})?$/;

type Rules = readonly PolicyRule[];

/**
 * @param additional `access.grantable`; undefined if it is not known: then only the form of rules is checked
 * @returns checks the rules of a policy, once for each list: it throws InvalidPolicy unless they are concrete
 *   and may be granted
 */
export function createRulesCheck(additional: Rules | undefined): (rules: Rules, field: string) => void {
  const grantable = additional && { rules: grantableRules(additional) };
  const problemOf = memoizeByReference((rules: Rules) => problemIn(rules, grantable));
  return (rules, field) => {
    checkLength(rules, field);
    const problem = problemOf(rules);
    if (problem !== undefined)
      throw new InvalidPolicy(problem.reason, `${field}[${problem.at}]${problem.message}`);
  };
}

interface Grantable {
  readonly rules: readonly GrantableRule[];
}

interface RuleProblem {
  readonly at: number;
  readonly reason: 'Invalid' | 'NotGrantable';
  readonly message: string;
}

function problemIn(rules: Rules, grantable: Grantable | undefined) {
  let combinations = 0;
  for (const [at, rule] of rules.entries()) {
    const message = formProblem(rule);
    if (message !== undefined) return { at, reason: 'Invalid', message } satisfies RuleProblem;
    const { verbs, apiGroups = [], resources = [] } = rule;
    combinations += verbs.length * apiGroups.length * resources.length;
    if (combinations > MAX_COMBINATIONS)
      return {
        at,
        reason: 'Invalid',
        message: ': the rules have too many combinations',
      } satisfies RuleProblem;
    const ungrantable = grantable && firstUngrantable(rule, grantable);
    if (ungrantable !== undefined)
      return { at, reason: 'NotGrantable', message: ungrantable } satisfies RuleProblem;
  }
  return undefined;
}

/** @returns the first combination that is not contained */
function firstUngrantable(
  { verbs, apiGroups = [], resources = [], resourceNames }: PolicyRule,
  grantable: Grantable,
): string | undefined {
  for (const apiGroup of apiGroups) {
    for (const full of resources) {
      const [resource = '', subresource = ''] = full.split('/', 2);
      for (const verb of verbs) {
        const covered = coveredByRole(grantable, { verb, apiGroup, resource, subresource });
        if (covered === 'all') continue;
        if (resourceNames?.every((name) => covered.has(name))) continue;
        const title = apiGroup === '' ? full : `${full}.${apiGroup}`;
        return `: ${verb} ${title} is not among what policies may grant`;
      }
    }
  }
  return undefined;
}

function formProblem(rule: PolicyRule): string | undefined {
  const { verbs, apiGroups = [], resources = [], resourceNames, nonResourceURLs } = rule;
  if (nonResourceURLs !== undefined) return '.nonResourceURLs: a policy grants no paths';
  return (
    listProblem('verbs', verbs, (verb) => VERB.test(verb)) ??
    listProblem('apiGroups', apiGroups, (group) => GROUP.test(group)) ??
    listProblem('resources', resources, (resource) => RESOURCE.test(resource)) ??
    (resourceNames &&
      listProblem('resourceNames', resourceNames, (name) => name !== '*' && isPrintable(name)))
  );
}

function listProblem(
  field: string,
  texts: readonly string[],
  fits: (text: string) => boolean,
): string | undefined {
  const problem = lengthProblem(texts);
  if (problem !== undefined) return `.${field} ${problem}`;
  if (texts.some((text) => text.includes('*'))) return `.${field} has *: write each by name`;
  return texts.every(fits) ? undefined : `.${field} has a text that is none`;
}
