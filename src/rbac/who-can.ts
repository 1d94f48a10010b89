/**
 * Who may do something: every subject of a binding whose role allows it. It agrees with `decide` for each
 * subject. The cost is that of the roles, and of the bindings that count.
 */

import type { NonResourceQuestion, ResourceQuestion } from '../kubernetes/authorizer-attributes.ts';
import type { StoredBinding, StoredRole, StoredSubject } from '../kubernetes/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Scope } from './attributes.ts';
import { missingRole } from './decide.ts';
import { type Covered, coveredByRole, roleAllows } from './rules.ts';
import { compareBindings } from './sorted-bindings.ts';
import { keyOfSubject, type SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

export type WhoCanQuestion = Omit<ResourceQuestion, 'namespace' | 'tenant'> | NonResourceQuestion;

/** One subject of one binding. */
export interface SubjectGrant {
  readonly key: SubjectKey;
  readonly subject: StoredSubject;
  /** The access is granted in its namespace; a ClusterRoleBinding grants it everywhere. */
  readonly binding: StoredBinding;
  readonly role: StoredRole;
}

export interface Granted {
  /** Grants of ClusterRoleBindings come first, then the others by namespace and name of the binding. */
  readonly grants: readonly SubjectGrant[];
  /** Whether there are more grants than the limit. */
  readonly isCut: boolean;
  /** Bindings in the scope whose roles are missing. */
  readonly errors: readonly string[];
}

export interface WhoCanLimits {
  /** The most grants. It bounds the work too: if there are more, which of them are found is arbitrary. */
  readonly grants: number;
  /** Whether the missing role of the binding may be named. */
  readonly mayShow: (binding: StoredBinding) => boolean;
}

const UNLIMITED: WhoCanLimits = { grants: Number.POSITIVE_INFINITY, mayShow: () => true };
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
  { grants: limit, mayShow }: WhoCanLimits = UNLIMITED,
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
    errors: missingIn(objects, 'path' in question ? { namespace: '' } : scope, mayShow),
  };
}

/** The grants come in no order. */
function* grantsIn(objects: TenantObjects, question: WhoCanQuestion, scope: Scope): Generator<SubjectGrant> {
  const coveredBy = memoizeByReference((role: StoredRole) => coveredIn(role, question));
  // The namespace is then the object that the request names, so rules with names may cover it.
  const namesNamespace = 'name' in question && question.name === '' && isNamespaceObject(question);
  const nameIn = ({ namespace }: StoredBinding) => {
    if ('path' in question) return '';
    if (!namesNamespace) return question.name;
    return namespace !== '' || scope === 'all' ? namespace : scope.namespace;
  };
  for (const binding of boundBindings(objects, coveredBy, scope)) {
    const role = objects.roleOf(binding);
    if (role === undefined || ('path' in question && binding.namespace !== '')) continue;
    const covered = coveredBy(role);
    if (covered === 'all' || covered.has(nameIn(binding))) yield* grantsOf(binding, role);
  }
}

function coveredIn(role: StoredRole, question: WhoCanQuestion): Covered {
  if (!('path' in question)) return coveredByRole(role, question);
  return roleAllows(role, question) ? 'all' : new Set();
}

function* boundBindings(
  objects: TenantObjects,
  coveredBy: (role: StoredRole) => Covered,
  scope: Scope,
): Generator<StoredBinding> {
  if (scope === 'all') {
    for (const role of objects.roles) {
      const bindings = objects.bindingsOfRole(role);
      if (bindings.length === 0) continue;
      const covered = coveredBy(role);
      if (covered === 'all' || covered.size > 0) yield* bindings;
    }
    return;
  }
  yield* objects.bindingsIn('').values();
  if (scope.namespace !== '') yield* objects.bindingsIn(scope.namespace).values();
}

/** Each user and group of the binding once. */
function* grantsOf(binding: StoredBinding, role: StoredRole): Generator<SubjectGrant> {
  const seen = new Set<SubjectKey>();
  for (const subject of binding.subjects) {
    const key = keyOfSubject(subject, binding.namespace);
    if (key === undefined || seen.has(key)) continue;
    seen.add(key);
    yield { key, subject, binding, role };
  }
}

/** Sorted. */
function missingIn(
  objects: TenantObjects,
  scope: Scope,
  mayShow: (binding: StoredBinding) => boolean,
): readonly string[] {
  const missing = new Set<string>();
  for (const binding of objects.bindingsWithoutRole()) {
    const { namespace } = binding;
    const isInScope = scope === 'all' || namespace === '' || namespace === scope.namespace;
    if (isInScope && mayShow(binding)) missing.add(missingRole(binding));
    if (missing.size === MAX_ERRORS) break;
  }
  return [...missing].sort();
}
