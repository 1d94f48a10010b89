/**
 * A set of rules in one canonical form: what a rule of the set covers is not repeated, and the order does not
 * depend on bindings. Rules are stored as single grants: one verb, one API group, one resource.
 */
import type { AccessRule, RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import type { PolicyRule } from '../../api/kubernetes-object.ts';

const ALL = '*';

/** Undefined: all objects. */
type Names = ReadonlySet<string> | undefined;

interface SingleGrant {
  readonly verb: string;
  readonly apiGroup: string;
  /** With its subresource. */
  readonly resource: string;
  readonly names: Names;
}

/** Far more than the roles of one user grant; a short rule can stand for hundreds of thousands. */
const MAX_GRANTS = 5_000;
/** Grants and names of all sets of a document: a few hundred milliseconds of work. */
export const MAX_WEIGHT = 50_000;

export class RuleSet {
  readonly #grants = new Map<string, SingleGrant>();
  /** Key → the names that this set has collected itself, and may add to. */
  readonly #collected = new Map<string, Set<string>>();
  #isTruncated = false;
  #weight = 0;

  /** Whether rules were left out, because they stand for too many grants. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** Grants and names that were added: what the set costs. */
  get weight(): number {
    return this.#weight;
  }

  /** Adds what the rule grants of the selection. */
  add(
    { verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule,
    select: RulesSelection,
  ): void {
    const names = resourceNames.length === 0 ? undefined : new Set(resourceNames);
    const chosen = chosenOf({ verbs, apiGroups, resources }, select);
    if (grantsOf(chosen) > MAX_GRANTS) {
      this.#isTruncated = true;
      return;
    }
    for (const verb of chosen.verbs)
      for (const apiGroup of chosen.apiGroups)
        for (const resource of chosen.resources) this.#add({ verb, apiGroup, resource, names });
  }

  addAll(other: RuleSet): void {
    if (other.#isTruncated) this.#isTruncated = true;
    for (const grant of other.#grants.values()) this.#add(grant);
  }

  /** Without what a rule of this set, or of the other one, covers. */
  without(other: RuleSet): RuleSet {
    const rest = new RuleSet();
    for (const [key, grant] of this.#grants)
      if (!other.#covers(grant) && !this.#covers(grant, key)) rest.#grants.set(key, grant);
    return rest;
  }

  /** The grants that are equal in all sets. */
  static common([first = new RuleSet(), ...others]: readonly RuleSet[]): RuleSet {
    const common = new RuleSet();
    for (const [key, grant] of first.#grants)
      if (others.every((other) => hasEqual(other.#grants.get(key), grant))) common.#grants.set(key, grant);
    return common;
  }

  /** @param withVerbs false if all have the same verb */
  rules(withVerbs: boolean): AccessRule[] {
    return merged(this.without(new RuleSet()).#grants.values())
      .map(({ verbs, apiGroups, resources, names }) => ({
        ...(withVerbs && { verbs }),
        apiGroups,
        resources,
        ...(names && { resourceNames: names }),
      }))
      .sort((one, other) => compare(JSON.stringify(one), JSON.stringify(other)));
  }

  #add(grant: SingleGrant): void {
    this.#weight += 1 + (grant.names?.size ?? 0);
    if (this.#weight > MAX_WEIGHT) {
      this.#isTruncated = true;
      return;
    }
    const key = keyOf(grant.verb, grant.apiGroup, grant.resource);
    const known = this.#grants.get(key);
    if (known === undefined && this.#grants.size >= MAX_GRANTS) this.#isTruncated = true;
    else if (known === undefined || grant.names === undefined) this.#grants.set(key, grant);
    else if (known.names !== undefined) this.#addNames(key, known, known.names, grant.names);
  }

  #addNames(key: string, grant: SingleGrant, known: ReadonlySet<string>, more: ReadonlySet<string>): void {
    const names = this.#collected.get(key) ?? new Set(known);
    this.#collected.set(key, names);
    for (const name of more) names.add(name);
    this.#grants.set(key, { ...grant, names });
  }

  /** @param except a key that is not looked at */
  #covers({ verb, apiGroup, resource, names }: SingleGrant, except?: string): boolean {
    for (const anyVerb of wider(verb))
      for (const anyGroup of wider(apiGroup))
        for (const anyResource of widerResources(resource)) {
          const key = keyOf(anyVerb, anyGroup, anyResource);
          if (key === except) continue;
          const other = this.#grants.get(key);
          if (other !== undefined && includes(other.names, names)) return true;
        }
    return false;
  }
}

/** The parts of a rule that are selected. */
function chosenOf({ verbs, apiGroups = [], resources = [] }: PolicyRule, select: RulesSelection) {
  return {
    verbs: selected(verbs, select.verb === ALL ? undefined : select.verb),
    apiGroups: selected(apiGroups, select.apiGroup),
    resources: selectedResources(resources, select.resource),
  };
}

function grantsOf({ verbs, apiGroups, resources }: ReturnType<typeof chosenOf>): number {
  return verbs.length * apiGroups.length * resources.length;
}

/** What the rules would add to the weight of an empty set, without making the grants. */
export function weightOf(rules: readonly PolicyRule[], select: RulesSelection): number {
  let weight = 0;
  for (const rule of rules) {
    const grants = grantsOf(chosenOf(rule, select));
    if (grants <= MAX_GRANTS) weight += grants * (1 + (rule.resourceNames?.length ?? 0));
  }
  return Math.min(weight, MAX_WEIGHT);
}

/** No two triples have one key, whatever their characters are; faster than JSON. */
function keyOf(verb: string, apiGroup: string, resource: string): string {
  return `${verb.length}:${verb}${apiGroup.length}:${apiGroup}${resource}`;
}

function selected(values: readonly string[], wanted: string | undefined): readonly string[] {
  if (wanted === undefined) return values;
  return values.some((value) => value === ALL || value === wanted) ? [wanted] : [];
}

function selectedResources(values: readonly string[], wanted: string | undefined): readonly string[] {
  if (wanted === undefined) return values;
  return widerResources(wanted).some((resource) => values.includes(resource)) ? [wanted] : [];
}

/** The values that cover the value, itself included. */
function wider(value: string): readonly string[] {
  return value === ALL ? [ALL] : [value, ALL];
}

function widerResources(resource: string): readonly string[] {
  const [name = '', subresource = '', ...more] = resource.split('/');
  if (resource === ALL) return [ALL];
  const isSubresource = name !== '' && name !== ALL && subresource !== '' && more.length === 0;
  return isSubresource ? [resource, `*/${subresource}`, ALL] : [resource, ALL];
}

function includes(all: Names, some: Names): boolean {
  if (all === undefined) return true;
  return some !== undefined && [...some].every((name) => all.has(name));
}

function hasEqual(one: SingleGrant | undefined, other: SingleGrant): boolean {
  return one !== undefined && includes(one.names, other.names) && includes(other.names, one.names);
}

interface Merged {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly names: readonly string[] | undefined;
}

/** Joins grants that differ in the verb only, then in the resource only, then in the group only. */
function merged(grants: Iterable<SingleGrant>): readonly Merged[] {
  const single = Array.from(grants, ({ verb, apiGroup, resource, names }) => ({
    verbs: [verb],
    apiGroups: [apiGroup],
    resources: [resource],
    names: names && [...names].sort(),
  }));
  return joined(joined(joined(single, 'verbs'), 'resources'), 'apiGroups');
}

function joined(rules: readonly Merged[], field: 'verbs' | 'resources' | 'apiGroups'): readonly Merged[] {
  const alike = new Map<string, Merged[]>();
  for (const rule of rules) {
    const key = JSON.stringify({ ...rule, [field]: [] });
    const known = alike.get(key);
    if (known === undefined) alike.set(key, [rule]);
    else known.push(rule);
  }
  return [...alike.values()].flatMap(([first, ...more]) =>
    first === undefined
      ? []
      : { ...first, [field]: [...new Set([first, ...more].flatMap((rule) => rule[field]))].sort() },
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
