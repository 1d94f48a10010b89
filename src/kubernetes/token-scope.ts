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

/** It only narrows: what it allows, the owner may still not do. */
export interface TokenScope {
  /** The id of the token. */
  readonly id: string;
  /** The scopes as they were given. */
  readonly text: string;
  /** Whether this scope was given: `session`, `+impersonate`. */
  has(scope: string): boolean;
  allows(question: Question): boolean;
  /** Whether it allows the same in some namespace: then a filtered response may be given. */
  allowsSomewhere(question: ResourceQuestion): boolean;
  /** Those that it names; in all others, and for what is in none, it covers the same. */
  readonly namespaces: ReadonlySet<string>;
  /** What it covers in a namespace; empty for what is in none. `allows` refuses some of what escalates. */
  rulesIn(namespace: string): readonly PolicyRule[];
}
