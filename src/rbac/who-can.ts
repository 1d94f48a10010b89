/**
 * Who may do something: every subject of a binding whose role allows it. It agrees with `decide` for each
 * subject. The cost is that of the roles, and of the bindings that count.
 */
import type { StoredBinding, StoredRole, StoredSubject } from '../api/rbac-v1.ts';
import type { NonResourceQuestion, ResourceQuestion, Scope } from './attributes.ts';
import { missingRole, SYSTEM_MASTERS } from './decide.ts';
import { ruleAllows } from './rules.ts';
import { compareBindings, type SortedBindings } from './sorted-bindings.ts';
import { groupKey, keyOfSubject, type SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

export type WhoCanQuestion = Omit<ResourceQuestion, 'namespace' | 'tenant'> | NonResourceQuestion;

/** One subject of one binding. */
export interface SubjectGrant {
  readonly key: SubjectKey;
  readonly subject: StoredSubject;
  /** Its namespace is where the access is granted; of a ClusterRoleBinding, everywhere. */
  readonly binding: StoredBinding;
  readonly role: StoredRole;
  /** Counted from 0. */
  readonly rule: number;
}

export interface Granted {
  /** Those of ClusterRoleBindings first, then by namespace and name of the binding. */
  readonly grants: readonly SubjectGrant[];
  /** Bindings in the scope whose roles are missing. */
  readonly errors: readonly string[];
}

/** Verbs that name an object: a request for a namespace with one of them is in that namespace. */
const OBJECT_VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete', 'impersonate', 'use']);

/** Whether a namespace itself is asked for, so that RoleBindings in it count. */
export function isNamespaceObject(question: WhoCanQuestion): boolean {
  if ('path' in question || question.apiGroup !== '' || question.resource !== 'namespaces') return false;
  return OBJECT_VERBS.has(question.verb) || question.subresource !== '';
}

/** @param mayTell whether the missing role of the binding is told */
export function whoCan(
  objects: TenantObjects,
  question: WhoCanQuestion,
  scope: Scope,
  mayTell: (binding: StoredBinding) => boolean = () => true,
): Granted {
  const missing = missingIn(objects, 'path' in question ? { namespace: '' } : scope, mayTell);
  return { grants: grantsIn(objects, question, scope), errors: [...new Set(missing)].sort() };
}

function grantsIn(objects: TenantObjects, question: WhoCanQuestion, scope: Scope): readonly SubjectGrant[] {
  const rules = new RuleOfRole(question);
  const grants: SubjectGrant[] = [];
  for (const binding of boundBindings(objects, rules, scope)) {
    const role = objects.roleOf(binding);
    const rule = role === undefined ? -1 : rules.in(role, binding.namespace, scope);
    if (role !== undefined && rule >= 0) addGrants(grants, binding, role, rule);
  }
  return grants;
}

/**
 * The keys of all subjects that are allowed in a namespace, the group that may do everything included. For a
 * question without a name about namespaces, perhaps more.
 */
export function keysAllowedIn(
  objects: TenantObjects,
  question: WhoCanQuestion,
  namespace: string,
): ReadonlySet<SubjectKey> {
  const keys = new Set<SubjectKey>([groupKey(SYSTEM_MASTERS)]);
  for (const { key } of grantsIn(objects, question, { namespace })) keys.add(key);
  return keys;
}

/** In the order of the grants: the bindings of a role have it already. */
function boundBindings(objects: TenantObjects, rules: RuleOfRole, scope: Scope): readonly StoredBinding[] {
  if (scope === 'all') {
    const ofRoles: SortedBindings[] = [];
    for (const role of objects.roles) {
      const bindings = objects.bindingsOfRole(role);
      if (bindings.length > 0 && rules.mayAllow(role)) ofRoles.push(bindings);
    }
    return merged(ofRoles);
  }
  const namespaces = scope.namespace === '' ? [''] : ['', scope.namespace];
  return namespaces.flatMap((namespace) => [...objects.bindingsIn(namespace).values()].sort(compareBindings));
}

/** Sorting finds the sorted parts, so it only merges them. */
function merged(parts: readonly SortedBindings[]): SortedBindings {
  const [only = []] = parts;
  return parts.length <= 1 ? only : parts.flat().sort(compareBindings);
}

/** Each user and group of the binding once. */
function addGrants(grants: SubjectGrant[], binding: StoredBinding, role: StoredRole, rule: number): void {
  const { subjects, namespace } = binding;
  const seen = subjects.length > 1 ? new Set<SubjectKey>() : undefined;
  for (const subject of subjects) {
    const key = keyOfSubject(subject, namespace);
    if (key === undefined || seen?.has(key)) continue;
    seen?.add(key);
    grants.push({ key, subject, binding, role, rule });
  }
}

/** Which rule of a role allows the question, found once for each role. */
class RuleOfRole {
  readonly #question: WhoCanQuestion;
  readonly #namesNamespace: boolean;
  /** Role → the name for which it was found last: bindings come by namespace. */
  readonly #known = new Map<StoredRole, { readonly name: string | undefined; readonly rule: number }>();

  constructor(question: WhoCanQuestion) {
    this.#question = question;
    this.#namesNamespace = isNamespaceObject(question) && 'name' in question && question.name === '';
  }

  mayAllow(role: StoredRole): boolean {
    return this.#namesNamespace || this.#find(role) >= 0;
  }

  /** @param bound the binding's namespace; empty for a ClusterRoleBinding */
  in(role: StoredRole, bound: string, scope: Scope): number {
    const question = this.#question;
    if ('path' in question) return bound === '' ? this.#find(role) : -1;
    if (!this.#namesNamespace) return this.#find(role);
    // The namespace is the object that the request names, so rules with names may be about it.
    const name = bound !== '' || scope === 'all' ? bound : scope.namespace;
    return this.#find(role, name);
  }

  /** @param name of the question, if it is not that of the review */
  #find(role: StoredRole, name?: string): number {
    const known = this.#known.get(role);
    if (known !== undefined && known.name === name) return known.rule;
    const question = this.#question;
    const rule = indexOfRule(
      role,
      'path' in question || name === undefined ? question : { ...question, name },
    );
    this.#known.set(role, { name, rule });
    return rule;
  }
}

function indexOfRule({ rules }: StoredRole, question: WhoCanQuestion): number {
  const asked = 'path' in question ? question : { ...question, namespace: '', tenant: '' };
  return rules.findIndex((rule) => ruleAllows(rule, asked));
}

function* missingIn(
  objects: TenantObjects,
  scope: Scope,
  mayTell: (binding: StoredBinding) => boolean,
): Generator<string> {
  for (const binding of objects.bindingsWithoutRole()) {
    const { namespace } = binding;
    const isInScope = scope === 'all' || namespace === '' || namespace === scope.namespace;
    if (isInScope && mayTell(binding)) yield missingRole(binding);
  }
}

/** Verbs of requests, and those that the API server checks for some resources. */
const KNOWN_VERBS: ReadonlySet<string> = new Set([
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'proxy'],
  ...['bind', 'escalate', 'impersonate', 'use', 'approve', 'sign', 'attest'],
]);
/** Of requests that name no resource. */
const METHODS: ReadonlySet<string> = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options']);

/** Whether a request may have the verb: it is Kubernetes' own, or a rule names it. */
export function isKnownVerb(objects: TenantObjects, question: WhoCanQuestion): boolean {
  const { verb } = question;
  if ('path' in question ? METHODS.has(verb) : KNOWN_VERBS.has(verb)) return true;
  for (const { rules } of objects.roles) if (rules.some(({ verbs }) => verbs.includes(verb))) return true;
  return false;
}
