/**
 * Everything that a user may do, as a document: rules by namespace, with namespaces of equal rules together,
 * so that the document of a user with one role in thousands of namespaces is short. Its work and its size are
 * bounded; above a bound it lists fewer rights, never more.
 */
import { hash } from 'node:crypto';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { RBACUser, SubjectByNamespace } from '../../rbac/attributes.ts';
import { SYSTEM_MASTERS } from '../../rbac/decide.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';
import { createRulesBudget, createScopeCut, type RulesBudget, take } from '../../rbac/scoped-rules.ts';
import { inNamespace, type SortedBindings } from '../../rbac/sorted-bindings.ts';
import { keysOfUser } from '../../rbac/subject-key.ts';
import type { AccessRule, AccessRules, NamespaceRules, RulesSelection } from './access-rules-v1alpha1.ts';
import { chosenOf, RuleSet } from './rule-set.ts';

/** Bytes of a document in JSON. */
const MAX_DOCUMENT = 1024 * 1024;
/** Reserved for the document's other fields. */
const FRAME = 1024;
/** What it costs to compile the rules of namespaces beside the rules themselves. */
const PLACE_COST = 256;

export interface CompiledAccessRules {
  readonly rules: AccessRules;
  /** Whether a bound left some rights out. */
  readonly isCut: boolean;
  /** Whether the scope of an access token covers some by wildcards that stand for what it does not allow. */
  readonly isTooWide: boolean;
  /** Bytes that the document has for anything else. */
  readonly room: number;
}

/** The rules are about requests in the subject's own tenant. */
export function compileAccessRules(
  index: RBACIndex,
  subject: SubjectByNamespace,
  selection: RulesSelection,
): CompiledAccessRules {
  const budget = createRulesBudget();
  const room = new Room(MAX_DOCUMENT - FRAME);
  const { scope, tenant } = subject.cluster;
  const cutIn = (namespace: string) => scope && createScopeCut(scope, { namespace, tenant }, budget);
  const common = commonRoles(index, subject);
  const everywhere = compile(common, selection, budget);
  const rulesOf = (roles: Roles, namespace = '') =>
    take(budget, PLACE_COST)
      ? compile(without(roles, common), selection, budget, cutIn(namespace))
          .without(everywhere)
          .rules(selection.verb === '*')
      : [];
  const ofEverywhere = room.rules(everywhere.without(new RuleSet()).rules(selection.verb === '*'));
  const isAboutCluster = selection.namespace === undefined;
  const cluster = isAboutCluster ? room.rules(rulesOf(clusterRoles(index, subject.cluster))) : [];
  const ofOthers = rulesOf(clusterRoles(index, subject.other), NOWHERE);
  const otherNamespaces = room.rules(ofOthers);
  const places = placesOf(index, subject, selection.namespace).map(({ roles, names }) => ({
    names,
    rules: rulesOf(roles, names[0]),
  }));
  const alike = Map.groupBy(places, ({ rules }) => JSON.stringify(rules));
  alike.delete(JSON.stringify(ofOthers));
  const namespaces = Array.from(alike.values(), (same) =>
    room.entry(same.flatMap(({ names }) => names).sort(), same[0]?.rules ?? []),
  );
  const isCut = room.isExceeded || budget.isExceeded;
  return {
    rules: {
      everywhere: ofEverywhere,
      cluster,
      namespaces: namespaces.filter(({ names }) => names.length > 0).sort(byFirstName),
      // A namespace that is left out has not the rights that the user has in others.
      otherNamespaces: isCut ? [] : otherNamespaces,
    },
    isCut,
    isTooWide: budget.isTooWide,
    room: room.left,
  };
}

/** The room that is left in the document. */
class Room {
  left: number;
  isExceeded = false;

  constructor(bytes: number) {
    this.left = bytes;
  }

  rules(rules: readonly AccessRule[]): AccessRule[] {
    return rules.filter((rule) => this.#take(rule));
  }

  entry(names: readonly string[], rules: readonly AccessRule[]): NamespaceRules {
    this.left -= '{"names":[],"rules":[]},'.length;
    return {
      rules: this.rules(rules),
      names: names.filter((name) => this.#take(name)),
    };
  }

  #take(value: AccessRule | string): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(value));
    const isRoom = bytes < this.left;
    if (isRoom) this.left -= bytes + ','.length;
    else this.isExceeded = true;
    return isRoom;
  }
}

type Named = Pick<NamespaceRules, 'names'>;

function byFirstName({ names: [one = ''] }: Named, { names: [other = ''] }: Named): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The rules of roles by a digest of them: roles of the same rules in many namespaces are one. */
type Roles = ReadonlyMap<string, readonly PolicyRule[]>;

const contentOf = memoizeByReference((rules: readonly PolicyRule[]) => {
  const text = JSON.stringify(rules);
  return { digest: hash('sha256', text, 'base64url'), bytes: Buffer.byteLength(text) };
});

/** How long their JSON is. */
function bytesOfRules(rules: readonly PolicyRule[]): number {
  return contentOf(rules).bytes;
}

/** No namespace has this name. */
const NOWHERE = '*';
const EVERYTHING = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];

/** @param cut reduces a rule to the scope of an access token */
function compile(
  roles: Roles,
  selection: RulesSelection,
  budget: RulesBudget,
  cut?: ReturnType<typeof createScopeCut>,
): RuleSet {
  const set = new RuleSet();
  for (const rule of [...roles.values()].flat())
    for (const part of cut?.(chosenOf(rule, selection)) ?? [rule]) set.add(part, selection, budget);
  return set;
}

function without(roles: Roles, others: Roles): Roles {
  return new Map([...roles].filter(([digest]) => !others.has(digest)));
}

/**
 * The roles that every user of the subject has by ClusterRoleBindings: none for an access token, whose scope
 * differs by namespace.
 */
function commonRoles(index: RBACIndex, { cluster, other, namespaces }: SubjectByNamespace): Roles {
  if (cluster.scope !== undefined) return new Map();
  let common = clusterRoles(index, cluster);
  for (const user of new Set([other, ...namespaces.values()])) {
    if (user === cluster) continue;
    const roles = clusterRoles(index, user);
    common = new Map([...common].filter(([digest]) => roles.has(digest)));
  }
  return common;
}

function clusterRoles(index: RBACIndex, user: RBACUser): Roles {
  const roles = rolesByNamespace(index, user, (all) => inNamespace(all, '')).get('') ?? new Map();
  return user.groups.includes(SYSTEM_MASTERS) ? new Map([...roles, [SYSTEM_MASTERS, EVERYTHING]]) : roles;
}

/** Namespaces in which the user of the namespace has the same roles, and the same scope. */
interface Place {
  readonly roles: Roles;
  readonly names: string[];
}

/**
 * The namespaces that have roles, a user or a scope of their own. Those with the smallest roles come first:
 * who binds the user to large roles in other namespaces takes nothing from them.
 */
function placesOf(index: RBACIndex, subject: SubjectByNamespace, only: string | undefined): readonly Place[] {
  const { other, namespaces } = subject;
  const { scope } = other;
  const alike = new Map<string, Place & { readonly bytes: number }>();
  const add = (name: string, ofUser: Roles, ofNamespace: Roles | undefined) => {
    if (only !== undefined && name !== only) return;
    const roles = new Map([...ofUser, ...(ofNamespace ?? [])]);
    const key = [...roles.keys(), ...(scope ? [`scope ${contentOf(scope.rulesIn(name)).digest}`] : [])]
      .sort()
      .join();
    const known = alike.get(key);
    if (known !== undefined) known.names.push(name);
    else {
      const bytes = [...roles.values()].reduce((sum, rules) => sum + bytesOfRules(rules), 0);
      alike.set(key, { roles, names: [name], bytes });
    }
  };
  const ofOther = clusterRoles(index, other);
  const rolesOfOther = rolesByNamespace(index, other);
  for (const name of new Set([...rolesOfOther.keys(), ...(scope?.namespaces() ?? [])]))
    if (name !== '' && !namespaces.has(name)) add(name, ofOther, rolesOfOther.get(name));
  for (const [name, user] of namespaces) {
    const roles = rolesByNamespace(index, user, (all) => inNamespace(all, name));
    add(name, clusterRoles(index, user), roles.get(name));
  }
  return [...alike.values()].sort((one, another) => one.bytes - another.bytes || byFirstName(one, another));
}

/**
 * Passes over the user's bindings once: a user may have hundreds of groups in thousands of namespaces.
 *
 * @param some those of the bindings that are wanted
 * @returns the roles of ClusterRoleBindings under an empty name
 */
function rolesByNamespace(
  index: RBACIndex,
  user: RBACUser,
  some = (all: SortedBindings): SortedBindings => all,
): ReadonlyMap<string, Roles> {
  const objects = index.objectsOf(user.tenant);
  const places = new Map<string, Map<string, readonly PolicyRule[]>>();
  for (const key of keysOfUser(user))
    for (const binding of some(objects.bindingsOfSubject(key))) {
      const rules = objects.roleOf(binding)?.rules;
      if (rules === undefined) continue;
      const roles = places.get(binding.namespace) ?? new Map<string, readonly PolicyRule[]>();
      places.set(binding.namespace, roles);
      roles.set(contentOf(rules).digest, rules);
    }
  return places;
}
