/**
 * The port to what Keystone knows of projects, domains and who holds which role where, for provisioning; what decides
 * about one person's request is asked through `assignment-source.ts`. Asked with the service credential, which needs
 * `reader` on the system. Implemented in `clients/keystone-directory.ts`.
 * https://docs.openstack.org/api-ref/identity/v3/#list-role-assignments
 */
import type { RoleReference, Scope, UserReference } from '../api/keystone-v3.ts';
import type { KubernetesObject, ObjectKind } from '../api/kubernetes-object.ts';

export interface KeystoneDomain {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
}

export interface KeystoneProject {
  readonly id: string;
  readonly name: string;
  readonly domainID: string;
  readonly enabled: boolean;
}

export type AssignmentScope = Exclude<Scope, { kind: 'unscoped' }>;

/** One user's role on one scope, with groups, inheritance and implied roles already resolved. */
export interface RoleAssignment {
  readonly user: UserReference;
  readonly role: RoleReference;
  readonly scope: AssignmentScope;
}

export interface KeystoneDirectory {
  /**
   * All of them, disabled ones included.
   *
   * @throws StatusError KeystoneUnavailable, as every function here
   */
  domains(): Promise<readonly KeystoneDomain[]>;
  projects(): Promise<readonly KeystoneProject[]>;
  /** Ids of users who may not log in: assignments do not say so. */
  disabledUserIDs(): Promise<ReadonlySet<string>>;
  /** Of everybody, on projects and domains. */
  roleAssignments(): Promise<readonly RoleAssignment[]>;
  /** Of everybody, on one project or one domain. */
  roleAssignmentsOn(place: {
    readonly kind: 'project' | 'domain';
    readonly id: string;
  }): Promise<readonly RoleAssignment[]>;
  /** Names of all roles that are of no domain. */
  roleNames(): Promise<readonly string[]>;
}

/*
 * The port to what decides about one person's request: their role assignments, and which places are switched off, of
 * which assignments say nothing. Implemented in `clients/keystone-directory.ts`.
 
 */

export interface DisabledScopes {
  readonly projectIDs: ReadonlySet<string>;
  readonly domainIDs: ReadonlySet<string>;
}

export interface AssignmentSource {
  /**
   * Where nobody may do anything, whoever holds which role there.
   *
   * @throws StatusError KeystoneUnavailable
   */
  disabledScopes(): Promise<DisabledScopes>;
  /**
   * Of one user, on projects, domains and the system; empty for an unknown user.
   *
   * @throws StatusError KeystoneUnavailable
   */
  roleAssignmentsOf(userID: string): Promise<readonly RoleAssignment[]>;
}

/*
 * The port to the objects of the API server, asked with the provisioning credential. Implemented in
 * `clients/cluster-objects.ts`. Every refusal of the API server that is no plain answer is thrown: half of an answer
 * must never look like an empty cluster.
 
 */

/** Where an object lives: in Arktos every one but a Tenant has a tenant; elsewhere none has. */
export interface Place {
  readonly tenant?: string;
  readonly namespace?: string;
}

export interface KubernetesObjectReference extends Place {
  readonly kind: ObjectKind;
  readonly name: string;
}

export interface ClusterObjects {
  /**
   * All of a kind, page by page; bindings of all namespaces where `place` names none.
   *
   * @param labelSelector as in the API, `stonegate.dev/managed-by=stonegate`; empty for all
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, ProvisioningForbidden
   */
  list<K extends ObjectKind>(
    kind: K,
    place: Place,
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<readonly Extract<KubernetesObject, { kind: K }>[]>;
  /** @returns undefined where there is none */
  get(reference: KubernetesObjectReference, signal: AbortSignal): Promise<KubernetesObject | undefined>;
  /** @returns `exists` where the name is taken */
  create(object: KubernetesObject, place: Place, signal: AbortSignal): Promise<'created' | 'exists'>;
  /** @param object with the `resourceVersion` it was read with: who changed it meanwhile wins */
  update(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'updated' | 'conflict' | 'gone'>;
  /** @param object as it was read: only that very one is deleted (preconditions uid and resourceVersion) */
  delete(
    object: KubernetesObject,
    place: Place,
    signal: AbortSignal,
  ): Promise<'deleted' | 'conflict' | 'gone'>;
}

/*
 * The port by which several replicas agree on who provisions. Implemented in `cache/redis-lease.ts`; without Redis
 * there is one process, which always holds it.
 
 */

export interface Lease {
  /**
   * Takes or prolongs it.
   *
   * @returns false where another replica holds it; also where nobody can be asked: then nobody provisions
   */
  hold(): Promise<boolean>;
  /** Gives it back where it is ours. */
  release(): Promise<void>;
}
