/**
 * The keys under which bindings are found: a user's name or a group. A service account is found under its
 * user name.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/rbac/validation/rule.go
 */
import type { StoredBinding, StoredSubject } from '../kubernetes/rbac-v1.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../kubernetes/reserved-names.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { RBACUser, SubjectByNamespace } from './attributes.ts';

/**
 * `user:` and the name of a user; a group is its own key, since users have hundreds. A group whose name looks
 * like a key has `group:` before it, so no two subjects have one key.
 */
export type SubjectKey = string;

const USER = 'user:';
const GROUP = 'group:';

export function userKey(username: string): SubjectKey {
  return `${USER}${username}`;
}

export function groupKey(group: string): SubjectKey {
  return group.startsWith(USER) || group.startsWith(GROUP) ? `${GROUP}${group}` : group;
}

export interface NamedSubject {
  readonly kind: 'user' | 'group';
  readonly name: string;
}

/** The subject whose key it is. */
export function subjectOfKey(key: SubjectKey): NamedSubject {
  if (key.startsWith(USER)) return { kind: 'user', name: key.slice(USER.length) };
  return { kind: 'group', name: key.startsWith(GROUP) ? key.slice(GROUP.length) : key };
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
      return namespace === '' ? undefined : userKey(`${SERVICE_ACCOUNT_PREFIX}${namespace}:${subject.name}`);
    }
    default:
      return undefined;
  }
}

/** The keys of a binding's subjects, without duplicates. */
export function keysOfBinding({ subjects, namespace }: StoredBinding): ReadonlySet<SubjectKey> {
  const keys = new Set<SubjectKey>();
  for (const subject of subjects) {
    const found = keyOfSubject(subject, namespace);
    if (found !== undefined) keys.add(found);
  }
  return keys;
}

/** The keys are made once for each user object: many questions are about one user. */
export const keysOfUser: (user: RBACUser) => ReadonlySet<SubjectKey> = memoizeByReference(
  ({ username, groups }) => {
    const keys = new Set<SubjectKey>([userKey(username)]);
    for (const group of groups) keys.add(groupKey(group));
    return keys;
  },
);

/** The keys under which bindings of the user are found, in any namespace. */
export function keysOfSubject({ cluster, other, namespaces }: SubjectByNamespace): ReadonlySet<SubjectKey> {
  if (cluster === other && namespaces.size === 0) return keysOfUser(cluster);
  return new Set([cluster, other, ...namespaces.values()].flatMap((user) => [...keysOfUser(user)]));
}

/** Equal for equal subjects, however their groups are ordered. */
export function fingerprintOfSubject({ cluster, other, namespaces }: SubjectByNamespace): string {
  const places = [...namespaces]
    .sort(([one], [another]) => (one < another ? -1 : 1))
    .map(([name, user]) => [name, factsOf(user)]);
  return JSON.stringify([factsOf(cluster), cluster === other ? null : factsOf(other), places]);
}

function factsOf({ tenant, username, groups, scope }: RBACUser): readonly unknown[] {
  return [tenant, username, [...groups].sort(), scope?.id, scope?.described];
}

/** The first subject of the binding that is the user. */
export function firstSubjectOf(binding: StoredBinding, user: RBACUser): StoredSubject | undefined {
  const keys = keysOfUser(user);
  return binding.subjects.find((subject) => {
    const key = keyOfSubject(subject, binding.namespace);
    return key !== undefined && keys.has(key);
  });
}
