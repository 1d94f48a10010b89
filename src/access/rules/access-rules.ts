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
import { MAX_WEIGHT, RuleSet } from './rule-set.ts';

const EVERYTHING = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

export interface CompiledAccessRules {
  readonly rules: AccessRules;
  /** Whether rules were left out, because they stand for too many grants. */
  readonly isTruncated: boolean;
}

/** The rules are about requests in the subject's own tenant. */
export function compileAccessRules(
  index: RBACIndex,
  subject: SubjectByNamespace,
  selection: RulesSelection,
): CompiledAccessRules {
  const compiler = new Compiler(index, selection);
  const users = new Set([subject.cluster, subject.other, ...subject.namespaces.values()]);
  const everywhere = RuleSet.common([...users].map((user) => compiler.clusterRules(user)));
  const rulesOf = (set: RuleSet) => set.without(everywhere).rules(selection.verb === '*');
  const otherNamespaces = rulesOf(compiler.clusterRules(subject.other));
  const places = new Map<string, { readonly names: string[]; readonly rules: NamespaceRules['rules'] }>();
  const common = JSON.stringify(otherNamespaces);
  for (const { names, set } of compiler.namespaces(subject)) {
    const rules = rulesOf(set);
    const text = JSON.stringify(rules);
    if (text === common) continue;
    const known = places.get(text);
    if (known === undefined) places.set(text, { names: [...names], rules });
    else for (const name of names) known.names.push(name);
  }
  const rules = {
    everywhere: everywhere.rules(selection.verb === '*'),
    cluster: selection.namespace === undefined ? rulesOf(compiler.clusterRules(subject.cluster)) : [],
    namespaces: [...places.values()]
      .map(({ names, rules }) => ({ names: names.sort(), rules }))
      .sort(byFirstName),
    otherNamespaces,
  };
  return { rules, isTruncated: compiler.isTruncated };
}

function byFirstName({ names: [one = ''] }: NamespaceRules, { names: [other = ''] }: NamespaceRules): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Compiles each set of roles once, whatever the number of namespaces in which a user has them. */
class Compiler {
  readonly #index: RBACIndex;
  readonly #selection: RulesSelection;
  readonly #ofRole = new Map<StoredRole, { readonly id: number; readonly set: RuleSet }>();
  readonly #ofCluster = new Map<RBACUser, RuleSet>();
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

  /** What ClusterRoleBindings grant. */
  clusterRules(user: RBACUser): RuleSet {
    const known = this.#ofCluster.get(user);
    if (known !== undefined) return known;
    const set = new RuleSet();
    if (user.groups.includes(SYSTEM_MASTERS)) set.add(EVERYTHING, this.#selection);
    const objects = this.#index.objectsOf(user.tenant);
    for (const role of rolesIn(objects, user, '')) set.addAll(this.#rulesOf(role).set);
    this.#ofCluster.set(user, set);
    if (set.isTruncated) this.#isTruncated = true;
    return set;
  }

  /** Each namespace that has rules of its own, or a user of its own. */
  *namespaces(subject: SubjectByNamespace): Generator<{ readonly names: readonly string[]; set: RuleSet }> {
    for (const [user, places] of this.#placesOf(subject)) {
      const alike = new Map<string, { readonly names: string[]; readonly roles: ReadonlySet<StoredRole> }>();
      for (const [name, roles] of places) {
        const key = [...roles]
          .map((role) => this.#rulesOf(role).id)
          .sort((one, other) => one - other)
          .join();
        const known = alike.get(key);
        if (known === undefined) alike.set(key, { names: [name], roles });
        else known.names.push(name);
      }
      for (const { names, roles } of alike.values()) yield { names, set: this.#together(user, roles) };
    }
  }

  /** Empty beyond the bound: the namespaces must be named, or the rules of other namespaces would count. */
  #together(user: RBACUser, roles: ReadonlySet<StoredRole>): RuleSet {
    const set = new RuleSet();
    if (this.#weight > MAX_WEIGHT) this.#isTruncated = true;
    else {
      set.addAll(this.clusterRules(user));
      for (const role of roles) set.addAll(this.#rulesOf(role).set);
      this.#weight += set.weight;
    }
    if (set.isTruncated) this.#isTruncated = true;
    return set;
  }

  /** The roles of each user in each namespace. */
  #placesOf(subject: SubjectByNamespace): Map<RBACUser, Map<string, ReadonlySet<StoredRole>>> {
    const { namespace: only } = this.#selection;
    const { other } = subject;
    const isOfOther = (name: string) =>
      name !== '' && !subject.namespaces.has(name) && (only === undefined || name === only);
    const ofOther = rolesByNamespace(this.#index.objectsOf(other.tenant), other, isOfOther);
    const places = new Map([[other, ofOther]]);
    for (const [name, user] of subject.namespaces) {
      if (only !== undefined && name !== only) continue;
      const known = places.get(user) ?? new Map<string, Set<StoredRole>>();
      places.set(user, known);
      known.set(name, rolesIn(this.#index.objectsOf(user.tenant), user, name));
    }
    return places;
  }

  #rulesOf(role: StoredRole): { readonly id: number; readonly set: RuleSet } {
    const known = this.#ofRole.get(role);
    if (known !== undefined) return known;
    const set = new RuleSet();
    for (const rule of role.rules) set.add(rule, this.#selection);
    const made = { id: this.#ofRole.size, set };
    this.#ofRole.set(role, made);
    return made;
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
function rolesByNamespace(
  objects: TenantObjects,
  user: RBACUser,
  isWanted: (namespace: string) => boolean,
): Map<string, Set<StoredRole>> {
  const places = new Map<string, Set<StoredRole>>();
  for (const key of keysOfUser(user))
    for (const binding of objects.bindingsOfSubject(key)) {
      if (!isWanted(binding.namespace)) continue;
      const roles = places.get(binding.namespace) ?? new Set();
      places.set(binding.namespace, roles);
      const role = objects.roleOf(binding);
      if (role !== undefined) roles.add(role);
    }
  return places;
}
