/**
 * Who may do something: every subject of a binding whose role allows it. It agrees with `decide` for each
 * subject. The cost is that of the roles, and of the bindings that count.
 */
import type { StoredBinding, StoredRole, StoredSubject } from '../kubernetes/rbac-v1.ts';
import type { NonResourceQuestion, ResourceQuestion, Scope } from './attributes.ts';
import { missingRole } from './decide.ts';
import { ruleAllows } from './rules.ts';
import { compareBindings } from './sorted-bindings.ts';
import { keyOfSubject, type SubjectKey } from './subject-key.ts';
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
  /** Whether there are more grants than the limit. */
  readonly isCut: boolean;
  /** Bindings in the scope whose roles are missing. */
  readonly errors: readonly string[];
}

export interface WhoCanLimits {
  /** It bounds the work too: if there are more grants, which of them are found is arbitrary. */
  readonly grants: number;
  /** Whether the missing role of the binding may be named. */
  readonly mayTell: (binding: StoredBinding) => boolean;
}

const UNLIMITED: WhoCanLimits = { grants: Number.POSITIVE_INFINITY, mayTell: () => true };
/** Missing roles that are named at most. */
const MAX_ERRORS = 100;

/** Verbs that name an object: a request for a namespace with one of them is in that namespace. */
const OBJECT_VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete', 'impersonate', 'use']);

/** Whether a namespace itself is asked for, so that RoleBindings in it count. */
export function isNamespaceObject(question: WhoCanQuestion): boolean {
  if ('path' in question || question.apiGroup !== '' || question.resource !== 'namespaces') return false;
  return OBJECT_VERBS.has(question.verb) || question.subresource !== '';
}

export function whoCan(
  objects: TenantObjects,
  question: WhoCanQuestion,
  scope: Scope,
  { grants: limit, mayTell }: WhoCanLimits = UNLIMITED,
): Granted {
  const found: SubjectGrant[] = [];
  let isCut = false;
  for (const grant of grantsIn(objects, question, scope)) {
    isCut = found.length >= limit;
    if (isCut) break;
    found.push(grant);
  }
  return {
    grants: found.sort((one, other) => compareBindings(one.binding, other.binding)),
    isCut,
    errors: missingIn(objects, 'path' in question ? { namespace: '' } : scope, mayTell),
  };
}

/** The grants come in no order. */
function* grantsIn(objects: TenantObjects, question: WhoCanQuestion, scope: Scope): Generator<SubjectGrant> {
  const rules = new RuleOfRole(question);
  for (const binding of boundBindings(objects, rules, scope)) {
    const role = objects.roleOf(binding);
    const rule = role === undefined ? -1 : rules.in(role, binding.namespace, scope);
    if (role !== undefined && rule >= 0) yield* grantsOf(binding, role, rule);
  }
}

function* boundBindings(objects: TenantObjects, rules: RuleOfRole, scope: Scope): Generator<StoredBinding> {
  if (scope === 'all') {
    for (const role of objects.roles) {
      const bindings = objects.bindingsOfRole(role);
      if (bindings.length > 0 && rules.mayAllow(role)) yield* bindings;
    }
    return;
  }
  yield* objects.bindingsIn('').values();
  if (scope.namespace !== '') yield* objects.bindingsIn(scope.namespace).values();
}

/** Each user and group of the binding once. */
function* grantsOf(binding: StoredBinding, role: StoredRole, rule: number): Generator<SubjectGrant> {
  const { subjects, namespace } = binding;
  const seen = subjects.length > 1 ? new Set<SubjectKey>() : undefined;
  for (const subject of subjects) {
    const key = keyOfSubject(subject, namespace);
    if (key === undefined || seen?.has(key)) continue;
    seen?.add(key);
    yield { key, subject, binding, role, rule };
  }
}

/** Finds the rule of a role that allows the question, once for each role. */
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

/** Sorted. */
function missingIn(
  objects: TenantObjects,
  scope: Scope,
  mayTell: (binding: StoredBinding) => boolean,
): readonly string[] {
  const missing = new Set<string>();
  for (const binding of objects.bindingsWithoutRole()) {
    const { namespace } = binding;
    const isInScope = scope === 'all' || namespace === '' || namespace === scope.namespace;
    if (isInScope && mayTell(binding)) missing.add(missingRole(binding));
    if (missing.size === MAX_ERRORS) break;
  }
  return [...missing].sort();
}
