/**
 * The rules of an access token in the form of a SelfSubjectRulesReview: those of its owner, cut to its scope.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/
 */
import type { NonResourceRule } from '../../kubernetes/authorization-v1.ts';
import type { ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import type { TokenScope } from '../../kubernetes/token-scope.ts';
import {
  createRulesBudget,
  createScopeCut,
  type RulesBudget,
  TOO_WIDE,
  take,
} from '../../rbac/scoped-rules.ts';
import { aggregated, type RulesStatus, resourceRuleOf, TOO_MANY } from './indexed-rules.ts';

/** A wildcard that stands for more than the scope allows is replaced with the kinds that are known. */
export function scopedRules(
  status: RulesStatus,
  scope: TokenScope | undefined,
  place: Pick<ResourceQuestion, 'namespace' | 'tenant'>,
): RulesStatus {
  if (scope === undefined) return status;
  const { resourceRules, nonResourceRules, incomplete, evaluationError = '' } = status;
  const budget = createRulesBudget();
  const rules = resourceRules.flatMap(createScopeCut(scope, place, budget));
  const paths = nonResourceRules.flatMap((rule) => scopedPaths(rule, scope, budget));
  const errors = [
    evaluationError,
    budget.isTooWide ? TOO_WIDE : '',
    budget.isExceeded ? TOO_MANY : '',
  ].filter((error) => error !== '');
  return {
    resourceRules: rules.flatMap(resourceRuleOf),
    nonResourceRules: paths,
    incomplete: incomplete || budget.isTooWide || budget.isExceeded,
    ...(errors.length > 0 && { evaluationError: aggregated(errors) }),
  };
}

/** What it costs to judge a verb on a path. */
const PATH_COST = 32;

function scopedPaths(
  { verbs, nonResourceURLs = [] }: NonResourceRule,
  scope: TokenScope,
  budget: RulesBudget,
): NonResourceRule[] {
  const characters = verbs.join().length;
  return nonResourceURLs.flatMap((path) => {
    if (!take(budget, PATH_COST * verbs.length + characters + path.length)) return [];
    const allowed = verbs.filter((verb) => scope.allows({ verb, path }));
    return allowed.length === 0 ? [] : [{ verbs: allowed, nonResourceURLs: [path] }];
  });
}
