/**
 * What a request asks for, in the terms of Kubernetes' authorizer, and what limits an access token beside the
 * rights of its owner.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authorization/authorizer#Attributes
 */
import type { PolicyRule } from './kubernetes-object.ts';

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

/** The scope of an access token. It gives no right: the owner must have the right too. */
export interface TokenScope {
  /** The id of the token. */
  readonly id: string;
  /** The scopes as they were given. */
  readonly text: string;
  /** Whether this scope was given: `session`, `+impersonate`. */
  has(scope: string): boolean;
  allows(question: Question): boolean;
  /** Whether the question is allowed in some namespace at least: then the response may be filtered. */
  allowsSomewhere(question: ResourceQuestion): boolean;
  /** The namespaces that the scope names. In all others, and outside of namespaces, it covers the same. */
  readonly namespaces: ReadonlySet<string>;
  /**
   * What the scope covers; `allows` refuses what escalates without its word.
   *
   * @param namespace empty for what is in none
   */
  rulesIn(namespace: string): readonly PolicyRule[];
}
