/**
 * Whether a subject of a binding is a user, without making keys: a namespace's bindings are compared one by
 * one. A binding with many subjects is indexed when it is first asked about.
 */

import type { StoredBinding, StoredSubject } from '../api/rbac-v1.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../api/reserved-names.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { RBACUser } from './attributes.ts';
import { groupKey, keyOfSubject, keysOfUser, type SubjectKey } from './subject-key.ts';

/** Subjects that are compared one by one. */
const FEW = 32;

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
  const { subjects } = binding;
  if (subjects.length <= FEW) return subjects.find((subject) => matches(subject, binding, user));
  const positions = positionsIn(binding);
  let first = Number.POSITIVE_INFINITY;
  for (const key of keysOfUser(user)) first = Math.min(first, positions.get(key) ?? first);
  return subjects[first];
}

const positionsIn = memoizeByReference((binding: StoredBinding): ReadonlyMap<SubjectKey, number> => {
  const positions = new Map<SubjectKey, number>();
  for (const [at, subject] of binding.subjects.entries()) {
    const key = keyOfSubject(subject, binding.namespace);
    if (key !== undefined && !positions.has(key)) positions.set(key, at);
  }
  return positions;
});
