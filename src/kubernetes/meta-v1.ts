/**
 * `meta/v1`: the types of the responses that Stonegate itself gives.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/
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

export interface APIResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Arktos only. */
  readonly tenanted?: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
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
