/**
 * What a user's roles on a project are as RoleBindings, as k8s-keystone-auth writes them: `<user id>_<role>`, bound to
 * the ClusterRole of the role's name. A binding counts as such only where all of it fits together; everybody else's is
 * left alone, whatever it is called.
 */

import type { KeystoneSync, ProjectMember } from '../../api/keystone-auth.ts';
import type { Binding, RBACSubject } from '../../api/kubernetes-object.ts';
import { MAX_LABEL_LENGTH, namespaceProblem } from '../../api/reserved-names.ts';
import { formatNamespace } from '../namespace-name.ts';

const GROUP = 'rbac.authorization.k8s.io';
/** Up to the first `_` of a binding's name it is the user. */
const USER_ID = /^[A-Za-z0-9.-]+$/;
/** What can be an object's name, and is none of the cluster's own roles. */
const ROLE = /^(?!system:|\.{1,2}$)[^/%\p{Cc}]+$/u;

export interface MemberBindings {
  readonly missing: readonly Binding[];
  /** As they shall be: somebody else was in them. */
  readonly changed: readonly Binding[];
  /** As they are. */
  readonly obsolete: readonly Binding[];
  /** Roles that can be no binding. */
  readonly refused: readonly string[];
}

/** @returns why it can be none, continuing "the namespace …" */
export function memberNamespace(
  { project, userDomainID }: ProjectMember,
  { namespaceFormat }: KeystoneSync,
): { readonly namespace: string } | { readonly refused: string } {
  const formatted = formatNamespace(namespaceFormat, { ...project, domainID: userDomainID });
  const namespace = formatted.length > MAX_LABEL_LENGTH ? project.id : formatted;
  const problem = namespaceProblem(namespace);
  return problem === undefined ? { namespace } : { refused: `${JSON.stringify(namespace)} ${problem}` };
}

/** @param existing every RoleBinding of the namespace */
export function memberBindings(
  { userID, username, roles }: ProjectMember,
  namespace: string,
  existing: readonly Binding[],
): MemberBindings {
  if (!USER_ID.test(userID)) return { missing: [], changed: [], obsolete: [], refused: roles };
  const usable = roles.filter((role) => ROLE.test(role));
  const subjects: RBACSubject[] = [{ apiGroup: GROUP, kind: 'User', name: username }];
  const wished = usable.map(
    (role): Binding => ({
      apiVersion: `${GROUP}/v1`,
      kind: 'RoleBinding',
      metadata: { name: `${userID}_${role}`, namespace },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: role },
      subjects,
    }),
  );
  const own = existing.filter((binding) => isOf(userID, binding));
  const found = new Map(own.map((binding) => [binding.metadata.name, binding]));
  return {
    missing: wished.filter(
      ({ metadata }) => !existing.some((other) => other.metadata.name === metadata.name),
    ),
    changed: wished.flatMap(({ metadata }) => {
      const present = found.get(metadata.name);
      return present && present.subjects[0]?.name !== username ? [{ ...present, subjects }] : [];
    }),
    obsolete: own.filter(({ roleRef }) => !roles.includes(roleRef.name)),
    refused: roles.filter((role) => !usable.includes(role)),
  };
}

/** Whether such a sync made it for this user. */
function isOf(userID: string, { metadata, roleRef, subjects }: Binding): boolean {
  const [subject, ...others] = subjects;
  return (
    metadata.name === `${userID}_${roleRef.name}` &&
    roleRef.kind === 'ClusterRole' &&
    subject?.kind === 'User' &&
    others.length === 0
  );
}
