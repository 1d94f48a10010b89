/**
 * What is there already, Stonegate's own and everybody else's: a namespace that somebody else has made is not free.
 */
import type { Binding, ClusterRole, Namespace, Tenant } from '../api/kubernetes-object.ts';

/** One tenant of Arktos, or a whole cluster that knows none. */
export interface PlaceState {
  /** Absent where the API server knows none. */
  readonly tenant?: string;
  readonly namespaces: readonly Namespace[];
  readonly clusterRoles: readonly ClusterRole[];
  readonly bindings: readonly Binding[];
}

export interface ClusterState {
  /** Empty where the API server knows none; without the system's. */
  readonly tenants: readonly Tenant[];
  readonly places: readonly PlaceState[];
}
