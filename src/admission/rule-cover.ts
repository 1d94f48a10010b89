/**
 * Whether rules that a user holds cover rules that they want to give, as RBAC's escalation check compares
 * them: each single combination of verb, group, resource and name must be allowed by one held rule.
 * https://pkg.go.dev/k8s.io/component-helpers/auth/rbac/validation#Covers
 */

export interface HeldRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** More comparisons of a combination with a held rule are not made: it counts as not covered. */
const MAX_COMPARISONS = 1_000_000;

interface RuleSets {
  readonly verbs: ReadonlySet<string>;
  readonly apiGroups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly resourceNames: ReadonlySet<string>;
}

/** @returns true only if everything that `wanted` allows is allowed by `held` */
export function covers(held: readonly HeldRule[], wanted: readonly HeldRule[]): boolean {
  const heldSets = held.map(setsOf);
  let left = MAX_COMPARISONS;
  for (const rule of wanted) {
    const names = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
    const combinations = rule.verbs.length * rule.apiGroups.length * rule.resources.length * names.length;
    left -= combinations * Math.max(1, held.length);
    if (left < 0) return false;
    const isHeld = rule.verbs.every((verb) =>
      rule.apiGroups.every((group) =>
        rule.resources.every((resource) =>
          names.every((name) => heldSets.some((one) => allows(one, verb, group, resource, name))),
        ),
      ),
    );
    if (!isHeld) return false;
  }
  return true;
}

function setsOf({ verbs, apiGroups, resources, resourceNames }: HeldRule): RuleSets {
  return {
    verbs: new Set(verbs),
    apiGroups: new Set(apiGroups),
    resources: new Set(resources),
    resourceNames: new Set(resourceNames),
  };
}

/** @param name undefined for every name */
function allows(rule: RuleSets, verb: string, group: string, resource: string, name?: string): boolean {
  const { verbs, apiGroups, resources, resourceNames } = rule;
  if (!holds(verbs, verb) || !holds(apiGroups, group) || !holdsResource(resources, resource)) return false;
  return resourceNames.size === 0 || (name !== undefined && resourceNames.has(name));
}

function holds(values: ReadonlySet<string>, value: string): boolean {
  return values.has('*') || values.has(value);
}

function holdsResource(values: ReadonlySet<string>, resource: string): boolean {
  const slash = resource.indexOf('/');
  return holds(values, resource) || (slash > 0 && values.has(`*${resource.slice(slash)}`));
}
