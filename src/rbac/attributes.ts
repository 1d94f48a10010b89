/**
 * The subject of a question to the index, and where it is asked.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authorization/authorizer#Attributes
 */

import type { TokenScope } from '../kubernetes/token-scope.ts';

/** A user as RBAC sees it. */
export interface RBACUser {
  /** The tenant whose bindings count: the user's own; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly username: string;
  readonly groups: readonly string[];
  /** Stonegate's tenant of the user, if it is known. It decides nothing. */
  readonly home?: string;
  /** What the user's credential is limited to, if it is an access token. */
  readonly scope?: TokenScope | undefined;
}

/** `all`: in every namespace at once, and for what is in no namespace. */
export type Scope = { readonly namespace: string } | 'all';

/**
 * The user of each namespace: if a user's roles are looked up for each request, the groups depend on the
 * namespace that a request concerns.
 */
export interface SubjectByNamespace {
  /** The user in requests that name no namespace. */
  readonly cluster: RBACUser;
  /** The user in every namespace that is not in `namespaces`. */
  readonly other: RBACUser;
  readonly namespaces: ReadonlyMap<string, RBACUser>;
}

export function subjectIn(subject: SubjectByNamespace, namespace: string): RBACUser {
  return namespace === '' ? subject.cluster : (subject.namespaces.get(namespace) ?? subject.other);
}

/** A subject that is the same user in every namespace. */
export function uniformSubject(user: RBACUser): SubjectByNamespace {
  return { cluster: user, other: user, namespaces: new Map() };
}
