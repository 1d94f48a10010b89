/**
 * Whether a subject of a binding is a user, without making keys: a namespace's bindings are compared one by
 * one.
 */

import type { StoredBinding, StoredSubject } from '../api/rbac-v1.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../api/reserved-names.ts';
import type { RBACUser } from './attributes.ts';
import { groupKey, keysOfUser } from './subject-key.ts';

export function matches(
  { kind, name, namespace }: StoredSubject,
  binding: Pick<StoredBinding, 'namespace'>,
  user: RBACUser,
): boolean {
  switch (kind) {
    case 'User':
      return name === user.username;
    case 'Group':
      return keysOfUser(user).has(groupKey(name));
    case 'ServiceAccount':
      return isServiceAccount(user.username, namespace === '' ? binding.namespace : namespace, name);
    default:
      return false;
  }
}

function isServiceAccount(username: string, namespace: string, name: string): boolean {
  const separator = SERVICE_ACCOUNT_PREFIX.length + namespace.length;
  return (
    namespace !== '' &&
    username.length === separator + 1 + name.length &&
    username.startsWith(SERVICE_ACCOUNT_PREFIX) &&
    username.startsWith(namespace, SERVICE_ACCOUNT_PREFIX.length) &&
    username[separator] === ':' &&
    username.endsWith(name)
  );
}

/** The first subject that is the user. */
export function firstSubjectOf(binding: StoredBinding, user: RBACUser): StoredSubject | undefined {
  return binding.subjects.find((subject) => matches(subject, binding, user));
}
