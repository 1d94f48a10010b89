/**
 * Whether rules that a user holds cover rules that they want to give, as RBAC's escalation check compares them: each
 * single combination of verb, group, resource and name must be allowed by one held rule.
 * https://pkg.go.dev/k8s.io/component-helpers/auth/rbac/validation#Covers
 */

export interface HeldRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** More combinations are taken for not covered. */
const MAX_COMBINATIONS = 10_000;

/** @returns true only if everything that `wanted` allows is allowed by `held` */
export function covers(held: readonly HeldRule[], wanted: readonly HeldRule[]): boolean {
  let left = MAX_COMBINATIONS;
  for (const rule of wanted) {
    const names = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
    left -= rule.verbs.length * rule.apiGroups.length * rule.resources.length * names.length;
    if (left < 0) return false;
    const isHeld = rule.verbs.every((verb) =>
      rule.apiGroups.every((group) =>
        rule.resources.every((resource) =>
          names.every((name) => held.some((one) => allows(one, verb, group, resource, name))),
        ),
      ),
    );
    if (!isHeld) return false;
  }
  return true;
}

/** @param name undefined for every name */
function allows(rule: HeldRule, verb: string, group: string, resource: string, name?: string): boolean {
  const { verbs, apiGroups, resources, resourceNames } = rule;
  if (!holds(verbs, verb) || !holds(apiGroups, group) || !holdsResource(resources, resource)) return false;
  return resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
}

function holds(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

function holdsResource(list: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/');
  return holds(list, resource) || (slash > 0 && list.includes(`*${resource.slice(slash)}`));
}
