/**
 * The decision of Kubernetes' RBAC authorizer, from the index: `allow` with the binding and rule that grant
 * the access, or `noOpinion`. In Arktos only bindings of the user's own tenant count.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/auth/authorizer/rbac/rbac.go
 */

import type { Question } from '../kubernetes/authorizer-attributes.ts';
import type { StoredBinding, StoredRole, StoredSubject } from '../kubernetes/rbac-v1.ts';
import { goQuoted } from '../lib/go-quoted.ts';
import type { RBACUser } from './attributes.ts';
import type { RBACIndex } from './rbac-index.ts';
import { roleAllows, ruleAllows } from './rules.ts';
import { inNamespace } from './sorted-bindings.ts';
import { firstSubjectOf, keysOfUser } from './subject-key.ts';
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
      /** The reason in the API server's words: empty, or which bindings have no role. */
      readonly reason: string;
    };

export function decide(index: RBACIndex, user: RBACUser, question: Question): AccessDecision {
  if (user.scope?.allows(question) === false) return { decision: 'noOpinion', reason: '' };
  if (user.groups.includes(SYSTEM_MASTERS)) return { decision: 'allow', reason: '', grant: undefined };
  const errors = new Set<string>();
  const allowing = allowingRule(index, user, question, errors);
  const subject = allowing && firstSubjectOf(allowing.binding, user);
  if (allowing === undefined || subject === undefined)
    return { decision: 'noOpinion', reason: errorReason([...errors]) };
  const grant = { ...allowing, subject };
  return { decision: 'allow', reason: `RBAC: allowed by ${describeGrant(grant)}`, grant };
}

/** Decides without giving the reason, which is cheaper. */
export function allows(index: RBACIndex, user: RBACUser, question: Question): boolean {
  return user.scope?.allows(question) !== false && ownerMay(index, user, question);
}

/** Decides by the rights of the user alone, whatever the credential is limited to. */
export function ownerMay(index: RBACIndex, user: RBACUser, question: Question): boolean {
  if (user.groups.includes(SYSTEM_MASTERS)) return true;
  if (isConfinedElsewhere(index, user, question)) return false;
  const objects = index.objectsOf(user.tenant);
  const places = new Set(['', namespaceOf(question)]);
  const refused = new Set<StoredRole>();
  for (const key of keysOfUser(user))
    for (const place of places)
      for (const binding of inNamespace(objects.bindingsOfSubject(key), place)) {
        const role = objects.roleOf(binding);
        if (role === undefined || refused.has(role)) continue;
        if (roleAllows(role, question)) return true;
        refused.add(role);
      }
  return false;
}

/** The first rule that allows the request. A role that many bindings refer to is evaluated once. */
function allowingRule(
  index: RBACIndex,
  user: RBACUser,
  question: Question,
  errors: Set<string>,
): (BoundRole & { readonly rule: number }) | undefined {
  if (isConfinedElsewhere(index, user, question)) return undefined;
  const refused = new Set<StoredRole>();
  for (const bound of grantsOf(index.objectsOf(user.tenant), user, namespaceOf(question), errors)) {
    if (refused.has(bound.role)) continue;
    const rule = bound.role.rules.findIndex((candidate) => ruleAllows(candidate, question));
    if (rule >= 0) return { ...bound, rule };
    refused.add(bound.role);
  }
  return undefined;
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
  for (const place of new Set(['', namespace]))
    for (const binding of bindingsOf(objects, user, place)) {
      const role = objects.roleOf(binding);
      if (role === undefined) errors.add(missingRole(binding));
      else yield { binding, role };
    }
}

/** The cost is that of the user's groups and bindings, however many subjects the bindings have. */
function bindingsOf(objects: TenantObjects, user: RBACUser, namespace: string): readonly StoredBinding[] {
  const found = new Set<StoredBinding>();
  for (const key of keysOfUser(user))
    for (const binding of inNamespace(objects.bindingsOfSubject(key), namespace)) found.add(binding);
  return [...found].sort(byName);
}

function byName(one: StoredBinding, other: StoredBinding): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

/** Describes the binding as the API server does in the reason of a review. */
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
