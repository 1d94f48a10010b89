/**
 * Everything that a user may do, as a document: rules by namespace, with namespaces of equal rules together,
 * so that the document of a user with one role in thousands of namespaces is short.
 */
import type { AccessRules, NamespaceRules, RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import type { StoredRole } from '../../api/rbac-v1.ts';
import type { RBACUser, SubjectByNamespace } from '../../rbac/attributes.ts';
import { SYSTEM_MASTERS } from '../../rbac/decide.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { inNamespace } from '../../rbac/sorted-bindings.ts';
import { keysOfUser } from '../../rbac/subject-key.ts';
import type { TenantObjects } from '../../rbac/tenant-objects.ts';
import { MAX_WEIGHT, RuleSet, weightOf } from './rule-set.ts';

const EVERYTHING = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

export interface CompiledAccessRules {
  readonly rules: AccessRules;
  /** Whether rules were left out, because they stand for too many grants. */
  readonly isTruncated: boolean;
  /** The namespaces of which all rules were left out for that. */
  readonly leftOut: readonly string[];
}

/** The rules are about requests in the subject's own tenant. */
export function compileAccessRules(
  index: RBACIndex,
  subject: SubjectByNamespace,
  selection: RulesSelection,
): CompiledAccessRules {
  const steps = compileInSteps(index, subject, selection);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * The same in steps of a few milliseconds, between which the process can do other work. If the user's rights
 * change in between, the rules may be partly those of before.
 */
export function* compileInSteps(
  index: RBACIndex,
  subject: SubjectByNamespace,
  selection: RulesSelection,
): Generator<void, CompiledAccessRules> {
  const compiler = new Compiler(index, selection);
  const users = new Set([subject.cluster, subject.other, ...subject.namespaces.values()]);
  const everywhere = RuleSet.common([...new Set(Array.from(users, (user) => compiler.clusterRules(user)))]);
  const rulesOf = (set: RuleSet) => set.without(everywhere).rules(selection.verb === '*');
  const otherNamespaces = rulesOf(compiler.clusterRules(subject.other));
  const places = new Map<string, { readonly names: string[]; readonly rules: NamespaceRules['rules'] }>();
  const common = JSON.stringify(otherNamespaces);
  // At least one step, so that many short evaluations leave room for other work too.
  yield;
  const groups = yield* compiler.groupsOf(subject);
  for (const group of groups) {
    const rules = rulesOf(compiler.together(group));
    yield;
    const text = JSON.stringify(rules);
    if (text === common) continue;
    const known = places.get(text);
    if (known === undefined) places.set(text, { names: [...group.names], rules });
    else for (const name of group.names) known.names.push(name);
  }
  const rules = {
    everywhere: everywhere.rules(selection.verb === '*'),
    cluster: selection.namespace === undefined ? rulesOf(compiler.clusterRules(subject.cluster)) : [],
    namespaces: [...places.values()]
      .map(({ names, rules }) => ({ names: names.sort(), rules }))
      .sort(byFirstName),
    otherNamespaces,
  };
  return { rules, isTruncated: compiler.isTruncated, leftOut: compiler.leftOut.sort() };
}

type Named = Pick<NamespaceRules, 'names'>;

function byFirstName({ names: [one = ''] }: Named, { names: [other = ''] }: Named): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Namespaces in which a user has the same roles. */
interface Group {
  readonly user: RBACUser;
  readonly names: string[];
  readonly roles: ReadonlySet<StoredRole>;
  readonly weight: number;
}

/** Bindings or namespaces that are looked at in one step. */
const STEP = 1_000;

/** Compiles each set of roles once, whatever the number of namespaces in which a user has them. */
class Compiler {
  readonly #index: RBACIndex;
  readonly #selection: RulesSelection;
  readonly #ofRole = new Map<StoredRole, { readonly id: number; readonly weight: number }>();
  readonly #sets = new Map<StoredRole, RuleSet>();
  readonly #ofUser = new Map<RBACUser, RuleSet>();
  /** By the roles. */
  readonly #ofCluster = new Map<string, RuleSet>();
  readonly leftOut: string[] = [];
  #isTruncated = false;
  /** Of all sets together. */
  #weight = 0;

  constructor(index: RBACIndex, selection: RulesSelection) {
    this.#index = index;
    this.#selection = selection;
  }

  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** What ClusterRoleBindings grant. Users with the same roles share it. */
  clusterRules(user: RBACUser): RuleSet {
    const known = this.#ofUser.get(user);
    if (known !== undefined) return known;
    const roles = rolesIn(this.#index.objectsOf(user.tenant), user, '');
    const isMaster = user.groups.includes(SYSTEM_MASTERS);
    const key = `${isMaster} ${this.#keyOf(roles)}`;
    const set = this.#ofCluster.get(key) ?? this.#clusterSet(roles, isMaster);
    this.#ofCluster.set(key, set);
    this.#ofUser.set(user, set);
    return set;
  }

  #clusterSet(roles: ReadonlySet<StoredRole>, isMaster: boolean): RuleSet {
    const set = new RuleSet();
    if (isMaster) set.add(EVERYTHING, this.#selection);
    for (const role of roles) set.addAll(this.#rulesOf(role));
    if (set.isTruncated) this.#isTruncated = true;
    return set;
  }

  /**
   * The namespaces that have rules of their own, or a user of their own. Those with the fewest grants come
   * first: who binds the user to large roles in other namespaces takes none of the bound from them.
   */
  *groupsOf(subject: SubjectByNamespace): Generator<void, Group[]> {
    const groups: Group[] = [];
    let handled = 0;
    for (const [user, places] of yield* this.#placesOf(subject)) {
      const alike = new Map<string, Group>();
      for (const [name, roles] of places) {
        const key = this.#keyOf(roles);
        const known = alike.get(key);
        const weight = [...roles].reduce((sum, role) => sum + this.#factsOf(role).weight, 0);
        if (known === undefined) alike.set(key, { user, names: [name], roles, weight });
        else known.names.push(name);
        handled += roles.size + 1;
        if (handled >= STEP) {
          handled = 0;
          yield;
        }
      }
      groups.push(...alike.values());
    }
    return groups.sort((one, other) => one.weight - other.weight || byFirstName(one, other));
  }

  /** Empty beyond the bound: the namespaces must be named, or the rules of other namespaces would count. */
  together({ user, roles, names, weight }: Group): RuleSet {
    const set = new RuleSet();
    const common = this.clusterRules(user);
    if (this.#weight > MAX_WEIGHT) {
      this.#isTruncated = true;
      if (weight > 0) for (const name of names) this.leftOut.push(name);
    } else {
      set.addAll(common);
      for (const role of roles) set.addAll(this.#rulesOf(role));
      this.#weight += set.weight - common.weight;
    }
    if (set.isTruncated) this.#isTruncated = true;
    return set;
  }

  /** The roles of each user in each namespace. */
  *#placesOf(
    subject: SubjectByNamespace,
  ): Generator<void, Map<RBACUser, Map<string, ReadonlySet<StoredRole>>>> {
    const { namespace: only } = this.#selection;
    const { other } = subject;
    const isOfOther = (name: string) =>
      name !== '' && !subject.namespaces.has(name) && (only === undefined || name === only);
    const ofOther = yield* rolesByNamespace(this.#index.objectsOf(other.tenant), other, isOfOther);
    const places = new Map([[other, ofOther]]);
    for (const [name, user] of subject.namespaces) {
      if (only !== undefined && name !== only) continue;
      const known = places.get(user) ?? new Map<string, Set<StoredRole>>();
      places.set(user, known);
      known.set(name, rolesIn(this.#index.objectsOf(user.tenant), user, name));
    }
    return places;
  }

  /** Equal for equal sets of roles. */
  #keyOf(roles: ReadonlySet<StoredRole>): string {
    return Array.from(roles, (role) => this.#factsOf(role).id)
      .sort((one, other) => one - other)
      .join();
  }

  #factsOf(role: StoredRole): { readonly id: number; readonly weight: number } {
    const known = this.#ofRole.get(role);
    if (known !== undefined) return known;
    const facts = { id: this.#ofRole.size, weight: weightOf(role.rules, this.#selection) };
    this.#ofRole.set(role, facts);
    return facts;
  }

  #rulesOf(role: StoredRole): RuleSet {
    const known = this.#sets.get(role);
    if (known !== undefined) return known;
    const set = new RuleSet();
    for (const rule of role.rules) set.add(rule, this.#selection);
    this.#sets.set(role, set);
    return set;
  }
}

/** @param namespace empty for those of ClusterRoleBindings; else those of RoleBindings alone */
function rolesIn(objects: TenantObjects, user: RBACUser, namespace: string): Set<StoredRole> {
  const roles = new Set<StoredRole>();
  for (const key of keysOfUser(user))
    for (const binding of inNamespace(objects.bindingsOfSubject(key), namespace)) {
      const role = objects.roleOf(binding);
      if (role !== undefined) roles.add(role);
    }
  return roles;
}

/** In one pass over the user's bindings: a user may have hundreds of groups in thousands of namespaces. */
function* rolesByNamespace(
  objects: TenantObjects,
  user: RBACUser,
  isWanted: (namespace: string) => boolean,
): Generator<void, Map<string, Set<StoredRole>>> {
  const places = new Map<string, Set<StoredRole>>();
  let handled = 0;
  for (const key of keysOfUser(user))
    for (const binding of objects.bindingsOfSubject(key)) {
      handled += 1;
      if (handled % STEP === 0) yield;
      if (!isWanted(binding.namespace)) continue;
      const roles = places.get(binding.namespace) ?? new Set();
      places.set(binding.namespace, roles);
      const role = objects.roleOf(binding);
      if (role !== undefined) roles.add(role);
    }
  return places;
}
