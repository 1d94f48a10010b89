/** Splits the rules of a ClusterRole. */

export interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Rules for one verb and one resource each. */
export function single(rules: readonly ResourceRule[]): ResourceRule[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.map((resource) => ({ apiGroups: [group], resources: [resource], verbs: [verb] })),
      ),
    ),
  );
}

export function includes(rule: ResourceRule, other: ResourceRule): boolean {
  return (
    other.apiGroups.every((each) => rule.apiGroups.includes(each)) &&
    other.resources.every((each) => rule.resources.includes(each)) &&
    other.verbs.every((each) => rule.verbs.includes(each))
  );
}
