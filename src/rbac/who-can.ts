/**
 * Who may do something: every subject of a binding whose role allows it. It agrees with `decide` for each
 * subject. The cost is that of the roles, and of the bindings that count.
 */
import type { StoredBinding, StoredRole, StoredSubject } from '../api/rbac-v1.ts';
import type { NonResourceQuestion, ResourceQuestion } from './attributes.ts';
import { missingRole } from './decide.ts';
import { ruleAllows } from './rules.ts';
import { keyOfSubject, type SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

/** `all`: in every namespace at once, and for what is in no namespace. */
export type Scope = { readonly namespace: string } | 'all';

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
  const rules = new RuleOfRole(question);
  const grants: SubjectGrant[] = [];
  for (const { binding, role } of boundRoles(objects, rules, scope)) {
    const rule = rules.in(role, binding.namespace, scope);
    if (rule < 0) continue;
    for (const { key, subject } of subjectsOf(binding)) grants.push({ key, subject, binding, role, rule });
  }
  const missing = missingIn(objects, 'path' in question ? { namespace: '' } : scope, mayTell);
  return {
    grants: inOrder(grants),
    errors: [...new Set(missing)].sort(),
  };
}

interface BindingOfRule {
  readonly binding: StoredBinding;
  readonly role: StoredRole;
}

function* boundRoles(objects: TenantObjects, rules: RuleOfRole, scope: Scope): Generator<BindingOfRule> {
  if (scope === 'all') {
    for (const role of objects.roles)
      if (rules.mayAllow(role)) for (const binding of objects.bindingsOfRole(role)) yield { binding, role };
    return;
  }
  const namespaces = scope.namespace === '' ? [''] : ['', scope.namespace];
  for (const namespace of namespaces)
    for (const binding of objects.bindingsIn(namespace).values()) {
      const role = objects.roleOf(binding);
      if (role !== undefined && rules.mayAllow(role)) yield { binding, role };
    }
}

/** Which rule of a role allows the question, found once for each role. */
class RuleOfRole {
  readonly #question: WhoCanQuestion;
  readonly #namesNamespace: boolean;
  readonly #known = new Map<StoredRole, number>();

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
    return indexOfRule(role, { ...question, name });
  }

  #find(role: StoredRole): number {
    const known = this.#known.get(role);
    if (known !== undefined) return known;
    const found = indexOfRule(role, this.#question);
    this.#known.set(role, found);
    return found;
  }
}

function indexOfRule({ rules }: StoredRole, question: WhoCanQuestion): number {
  const asked = 'path' in question ? question : { ...question, namespace: '', tenant: '' };
  return rules.findIndex((rule) => ruleAllows(rule, asked));
}

interface KeyedSubject {
  readonly key: SubjectKey;
  readonly subject: StoredSubject;
}

/** Each user and group once. */
function subjectsOf({ subjects, namespace }: StoredBinding): readonly KeyedSubject[] {
  const keyed = subjects.flatMap((subject) => {
    const key = keyOfSubject(subject, namespace);
    return key === undefined ? [] : [{ key, subject }];
  });
  if (keyed.length < 2) return keyed;
  const byKey = new Map<SubjectKey, KeyedSubject>();
  for (const one of keyed) if (!byKey.has(one.key)) byKey.set(one.key, one);
  return [...byKey.values()];
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

/** Sorted namespace by namespace: most have few grants. */
function inOrder(grants: readonly SubjectGrant[]): readonly SubjectGrant[] {
  const byNamespace = Map.groupBy(grants, ({ binding }) => binding.namespace);
  return [...byNamespace.keys()]
    .sort()
    .flatMap((namespace) => (byNamespace.get(namespace) ?? []).sort(byName));
}

function byName({ binding: one }: SubjectGrant, { binding: other }: SubjectGrant): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
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
