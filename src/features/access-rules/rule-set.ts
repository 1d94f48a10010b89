/**
 * A set of RBAC rules in one canonical form: what a rule of the set covers is not repeated, and the order
 * does not depend on roles or bindings. Rules are stored by kind and verb.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { WILDCARD, widerResources } from '../../rbac/rules.ts';
import type { RulesBudget } from '../../rbac/scoped-rules.ts';
import type { AccessRule, RulesSelection } from './access-rules-v1alpha1.ts';

/** Undefined: all objects. */
type Names = ReadonlySet<string> | undefined;
type Verbs = Map<string, Set<string> | undefined>;

/** Each grant and each name costs this much beside its characters. */
const OVERHEAD = 64;

export class RuleSet {
  /** API group → resource, with its subresource → verbs. */
  readonly #kinds = new Map<string, Map<string, Verbs>>();

  /** Adds what the rule grants of the selection, if the budget has room for it. */
  add(rule: PolicyRule, select: RulesSelection, budget: RulesBudget): void {
    if (budget.left <= 0) {
      budget.isExceeded = true;
      return;
    }
    const { verbs, apiGroups, resources } = chosenOf(rule, select);
    const names = rule.resourceNames ?? [];
    const [v, g, r] = [verbs.length, apiGroups.length, resources.length];
    const cost =
      charactersOf(verbs) * g * r +
      charactersOf(apiGroups) * v * r +
      charactersOf(resources) * v * g +
      (charactersOf(names) + OVERHEAD * (1 + names.length)) * v * g * r;
    // Reading a rule costs too, or very many that do not fit would be read.
    budget.left -= v + g + r + names.length;
    if (cost > budget.left) {
      budget.isExceeded = true;
      return;
    }
    budget.left -= cost;
    for (const apiGroup of apiGroups)
      for (const resource of resources) {
        const granted = this.#verbsOf(apiGroup, resource);
        for (const verb of verbs) addNames(granted, verb, names.length === 0 ? undefined : names);
      }
  }

  /** Without what a rule of this set, or of the other one, covers. */
  without(other: RuleSet): RuleSet {
    const rest = new RuleSet();
    for (const [apiGroup, resource, verbs] of this.#entries()) {
      const own = this.#covering(apiGroup, resource);
      const others = other.#covering(apiGroup, resource);
      for (const [verb, names] of verbs) {
        const isCovered =
          others.some((more) => covers(more, verb, names) || covers(more, WILDCARD, names)) ||
          own.some((more) => more !== verbs && covers(more, verb, names)) ||
          own.some((more) => (more !== verbs || verb !== WILDCARD) && covers(more, WILDCARD, names));
        if (!isCovered) rest.#verbsOf(apiGroup, resource).set(verb, names);
      }
    }
    return rest;
  }

  /** @param withVerbs false if all have the same verb */
  rules(withVerbs: boolean): AccessRule[] {
    const granted = [...this.#entries()].flatMap(([apiGroup, resource, verbs]) =>
      byNames(verbs).map((grant) => ({ ...grant, apiGroup, resource })),
    );
    const byGroup = Map.groupBy(granted, ({ key, apiGroup }) => JSON.stringify([key, apiGroup]));
    const ofGroups = Array.from(byGroup.values(), ([first, ...others]) => ({
      ...first,
      resources: [first, ...others].map((grant) => grant?.resource ?? '').sort(),
    }));
    const alike = Map.groupBy(ofGroups, ({ key, resources }) => JSON.stringify([key, resources]));
    return Array.from(alike.values(), ([first, ...others]) => ({
      ...(withVerbs && { verbs: first?.verbs ?? [] }),
      apiGroups: [first, ...others].map((grant) => grant?.apiGroup ?? '').sort(),
      resources: first?.resources ?? [],
      ...(first?.names && { resourceNames: first.names }),
    }))
      .map((rule) => ({ rule, text: JSON.stringify(rule) }))
      .sort((one, other) => (one.text < other.text ? -1 : 1))
      .map(({ rule }) => rule);
  }

  *#entries(): Generator<readonly [apiGroup: string, resource: string, verbs: Verbs]> {
    for (const [apiGroup, resources] of this.#kinds)
      for (const [resource, verbs] of resources) yield [apiGroup, resource, verbs];
  }

  #verbsOf(apiGroup: string, resource: string): Verbs {
    const resources = this.#kinds.get(apiGroup) ?? new Map<string, Verbs>();
    this.#kinds.set(apiGroup, resources);
    const verbs = resources.get(resource) ?? new Map();
    resources.set(resource, verbs);
    return verbs;
  }

  /** The verbs of the kind and of the wildcards for it. */
  #covering(apiGroup: string, resource: string): readonly Verbs[] {
    const found: Verbs[] = [];
    for (const group of apiGroup === WILDCARD ? [WILDCARD] : [apiGroup, WILDCARD]) {
      const resources = this.#kinds.get(group);
      if (resources === undefined) continue;
      for (const wider of widerResources(resource)) {
        const verbs = resources.get(wider);
        if (verbs !== undefined) found.push(verbs);
      }
    }
    return found;
  }
}

/** The parts of a rule that are selected. */
export function chosenOf(rule: PolicyRule, select: RulesSelection) {
  const { verbs, apiGroups = [], resources = [] } = rule;
  return {
    ...rule,
    verbs: selected(verbs, select.verb === WILDCARD ? undefined : select.verb, [select.verb, WILDCARD]),
    apiGroups: selected(apiGroups, select.apiGroup, [select.apiGroup ?? '', WILDCARD]),
    resources: selected(resources, select.resource, widerResources(select.resource ?? '')),
  };
}

/** @param wider the values that cover the wanted one, itself included */
function selected(values: readonly string[], wanted: string | undefined, wider: readonly string[]) {
  if (wanted === undefined) return values;
  return values.some((value) => wider.includes(value)) ? [wanted] : [];
}

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function addNames(verbs: Verbs, verb: string, names: Iterable<string> | undefined): void {
  const known = verbs.get(verb);
  if (names === undefined) verbs.set(verb, undefined);
  else if (known !== undefined) for (const name of names) known.add(name);
  else if (!verbs.has(verb)) verbs.set(verb, new Set(names));
}

function covers(verbs: Verbs, verb: string, names: Names): boolean {
  return verbs.has(verb) && includes(verbs.get(verb), names);
}

function includes(all: Names, some: Names): boolean {
  if (all === undefined) return true;
  return some !== undefined && some.size <= all.size && [...some].every((name) => all.has(name));
}

/** The verbs of one kind that are for the same objects, together. */
function byNames(verbs: Verbs) {
  const sorted = Array.from(verbs, ([verb, names]) => ({ verb, names: names && [...names].sort() }));
  const alike = Map.groupBy(sorted, ({ names }) => JSON.stringify(names));
  return Array.from(alike.values(), (same) => {
    const granted = { verbs: same.map(({ verb }) => verb).sort(), names: same[0]?.names };
    return { ...granted, key: JSON.stringify(granted) };
  });
}
