/**
 * The keys under which bindings are found: a user's name or a group. A service account is found under its
 * user name.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/rbac/validation/rule.go
 */
import type { StoredBinding, StoredSubject } from '../api/rbac-v1.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { RBACUser } from './attributes.ts';

export type SubjectKey = `user:${string}` | `group:${string}`;

function userKey(username: string): SubjectKey {
  return `user:${username}`;
}

export function groupKey(group: string): SubjectKey {
  return `group:${group}`;
}

/** @returns undefined if the subject matches no user */
export function keyOfSubject(subject: StoredSubject, bindingNamespace: string): SubjectKey | undefined {
  switch (subject.kind) {
    case 'User':
      return userKey(subject.name);
    case 'Group':
      return groupKey(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace === '' ? bindingNamespace : subject.namespace;
      return namespace === '' ? undefined : userKey(`system:serviceaccount:${namespace}:${subject.name}`);
    }
    default:
      return undefined;
  }
}

/** Without duplicates. */
export function keysOfBinding({ subjects, namespace }: StoredBinding): Set<SubjectKey> {
  const keys = new Set<SubjectKey>();
  for (const subject of subjects) {
    const found = keyOfSubject(subject, namespace);
    if (found !== undefined) keys.add(found);
  }
  return keys;
}

/** Made once for each user object: many questions are about one user. */
export const keysOfUser: (user: RBACUser) => ReadonlySet<SubjectKey> = memoizeByReference(
  ({ username, groups }) => new Set([userKey(username), ...groups.map(groupKey)]),
);
