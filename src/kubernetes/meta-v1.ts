/**
 * `meta/v1`: the types of the responses that Stonegate itself gives.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */

export const JSON_TYPE = 'application/json';
export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly deletionTimestamp?: string;
  readonly creationTimestamp?: string | null;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  /** Also sent as the header Retry-After. */
  readonly retryAfterSeconds?: number;
}

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Failure' | 'Success';
  readonly message: string;
  readonly reason: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

export interface APIResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Arktos only. */
  readonly tenanted?: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

export interface APIResourceList {
  readonly kind: 'APIResourceList';
  readonly apiVersion?: string;
  readonly groupVersion: string;
  readonly resources: readonly APIResource[];
}

export interface GroupResource {
  /** Empty for the core group. */
  readonly group: string;
  /** The name of the resource, in the plural. */
  readonly resource: string;
}
