/**
 * The decision of Kubernetes' RBAC authorizer, from the index: `allow` with the binding and rule that grant
 * the access, or `noOpinion`. In Arktos only bindings of the user's own tenant count.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/auth/authorizer/rbac/rbac.go
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { StoredBinding, StoredRole, StoredSubject } from '../api/rbac-v1.ts';
import { goQuoted } from '../lib/go-quoted.ts';
import type { Question, RBACUser } from './attributes.ts';
import type { RBACIndex } from './rbac-index.ts';
import { ruleAllows } from './rules.ts';
import { inNamespace } from './sorted-bindings.ts';
import { keyOfSubject, keysOfUser, type SubjectKey } from './subject-key.ts';
import type { TenantObjects } from './tenant-objects.ts';

/** Members of this group are authorized before RBAC is asked. */
export const SYSTEM_MASTERS = 'system:masters';

/** The path from a subject to a rule. */
export interface Grant {
  readonly binding: StoredBinding;
  /** The first subject of the binding that the user matches. */
  readonly subject: StoredSubject;
  readonly role: StoredRole;
  /** Counted from 0. */
  readonly rule: number;
}

export type AccessDecision =
  | {
      readonly decision: 'allow';
      /** The text of the API server's RBAC authorizer; empty for `system:masters`. */
      readonly reason: string;
      /** Undefined for `system:masters`. */
      readonly grant: Grant | undefined;
    }
  | {
      readonly decision: 'noOpinion';
      /** As the API server says it: empty, or why the evaluation is incomplete. */
      readonly reason: string;
      /** Bindings whose roles are missing. */
      readonly errors: readonly string[];
    };

export function decide(index: RBACIndex, user: RBACUser, question: Question): AccessDecision {
  if (user.groups.includes(SYSTEM_MASTERS)) return { decision: 'allow', reason: '', grant: undefined };
  const errors = new Set<string>();
  if (!isConfinedElsewhere(index, user, question)) {
    const objects = index.objectsOf(user.tenant);
    for (const { binding, role, subject } of grantsOf(objects, user, namespaceOf(question), errors)) {
      const rule = role.rules.findIndex((candidate) => ruleAllows(candidate, question));
      if (rule < 0) continue;
      const grant = { binding, subject, role, rule };
      return { decision: 'allow', reason: `RBAC: allowed by ${describeGrant(grant)}`, grant };
    }
  }
  return { decision: 'noOpinion', reason: errorReason([...errors]), errors: [...errors] };
}

export function allows(index: RBACIndex, user: RBACUser, question: Question): boolean {
  return decide(index, user, question).decision === 'allow';
}

/** Arktos refuses a tenant's user everything outside the tenant, non-resource requests included. */
export function isConfinedElsewhere(
  { systemTenant }: Pick<RBACIndex, 'systemTenant'>,
  { tenant }: RBACUser,
  question: Question,
): boolean {
  if (tenant === '' || tenant === systemTenant) return false;
  return 'path' in question || question.tenant !== tenant;
}

function namespaceOf(question: Question): string {
  return 'path' in question ? '' : question.namespace;
}

export interface BoundRole {
  readonly binding: StoredBinding;
  readonly role: StoredRole;
  readonly subject: StoredSubject;
}

/**
 * The roles of a user in a namespace: first those of ClusterRoleBindings, then those of the namespace's
 * RoleBindings, each in the order of the bindings' names.
 *
 * @param namespace empty for what is not in a namespace
 * @param errors receives a text for each binding whose role is missing
 */
export function* grantsOf(
  objects: TenantObjects,
  user: RBACUser,
  namespace: string,
  errors: Set<string>,
): Generator<BoundRole> {
  const keys = keysOfUser(user);
  yield* grantsIn(objects, keys, '', errors);
  if (namespace !== '') yield* grantsIn(objects, keys, namespace, errors);
}

function* grantsIn(
  objects: TenantObjects,
  keys: ReadonlySet<SubjectKey>,
  namespace: string,
  errors: Set<string>,
): Generator<BoundRole> {
  for (const binding of bindingsOf(objects, keys, namespace)) {
    const role = objects.roleOf(binding);
    if (role === undefined) {
      errors.add(missingRole(binding));
      continue;
    }
    const subject = binding.subjects.find((candidate) => matches(candidate, keys, namespace));
    if (subject !== undefined) yield { binding, role, subject };
  }
}

function bindingsOf(
  objects: TenantObjects,
  keys: ReadonlySet<SubjectKey>,
  namespace: string,
): readonly StoredBinding[] {
  const inPlace = objects.bindingsIn(namespace);
  // A namespace often has fewer bindings than a user has groups.
  if (inPlace.size < keys.size)
    return [...inPlace.values()]
      .filter(({ subjects }) => subjects.some((subject) => matches(subject, keys, namespace)))
      .sort(byName);
  const lists: (readonly StoredBinding[])[] = [];
  for (const key of keys) {
    const bindings = inNamespace(objects.bindingsOfSubject(key), namespace);
    if (bindings.length > 0) lists.push(bindings);
  }
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  return [...new Set(lists.flat())].sort(byName);
}

function byName(one: StoredBinding, other: StoredBinding): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

function matches(subject: StoredSubject, keys: ReadonlySet<SubjectKey>, namespace: string): boolean {
  const key = keyOfSubject(subject, namespace);
  return key !== undefined && keys.has(key);
}

/** As the API server describes the binding in the reason of a review. */
export function describeGrant({ binding, subject }: Pick<Grant, 'binding' | 'subject'>): string {
  const { resource, name, namespace, roleRef } = binding;
  const described =
    resource === 'rolebindings'
      ? `RoleBinding ${goQuoted(`${name}/${namespace}`)}`
      : `ClusterRoleBinding ${goQuoted(name)}`;
  return `${described} of ${roleRef.kind} ${goQuoted(roleRef.name)} to ${describeSubject(subject, namespace)}`;
}

function describeSubject(subject: StoredSubject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${goQuoted(subject.name)}`;
  const namespace = subject.namespace === '' ? bindingNamespace : subject.namespace;
  return `${subject.kind} ${goQuoted(`${subject.name}/${namespace}`)}`;
}

export function missingRole({ roleRef }: StoredBinding): string {
  if (roleRef.kind === 'ClusterRole' || roleRef.kind === 'Role')
    return `${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${goQuoted(roleRef.name)} not found`;
  return `unsupported role reference kind: ${goQuoted(roleRef.kind)}`;
}

function errorReason(errors: readonly string[]): string {
  if (errors.length === 0) return '';
  return `RBAC: ${errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`}`;
}

/** The rules of a user in a namespace, with their source. */
export function rulesOf(
  objects: TenantObjects,
  user: RBACUser,
  namespace: string,
  errors: Set<string>,
): { readonly rule: PolicyRule; readonly grant: Grant }[] {
  return [...grantsOf(objects, user, namespace, errors)].flatMap(({ binding, role, subject }) =>
    role.rules.map((rule, at) => ({ rule, grant: { binding, subject, role, rule: at } })),
  );
}
