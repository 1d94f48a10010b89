/**
 * Questions to an authorizer: a request in the terms of Kubernetes.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authorization/authorizer#Attributes
 */

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
