/**
 * What is asked of the index: the subject and the request, in the terms of Kubernetes' authorizer.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authorization/authorizer#Attributes
 */

/** A user as RBAC sees it. */
export interface RBACUser {
  /** The tenant whose bindings count: the user's own; empty if the API server has no tenants. */
  readonly tenant: string;
  readonly username: string;
  readonly groups: readonly string[];
  /** Stonegate's tenant of the user, if it is known. It decides nothing. */
  readonly home?: string;
}

export interface ResourceQuestion {
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  /** Empty for the whole cluster, or the whole tenant. For a namespace itself, its name. */
  readonly namespace: string;
  /** Empty if the request names no object. */
  readonly name: string;
  /** The tenant that the request concerns; empty if the API server has no tenants. */
  readonly tenant: string;
}

export interface NonResourceQuestion {
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
}

export type Question = ResourceQuestion | NonResourceQuestion;

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
