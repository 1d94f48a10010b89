/**
 * What the features on top of the RBAC index need from outside. Implemented in `app/`, with adapters.
 */
import type { Question, RBACUser, Scope, SubjectByNamespace } from './attributes.ts';
import type { NamespacesQuestion } from './enumerate.ts';
import type { RBACIndex } from './rbac-index.ts';

/**
 * `notSynced`: some resource has never been listed; requests are forwarded as if there were no index.
 * `stale`: some resource has shown no progress for too long; what the index would authorize is forwarded
 * unchanged, and what it enumerates is incomplete. `off`: the objects of the tenant do not fit in the index;
 * likewise.
 */
export type IndexState = 'notSynced' | 'current' | 'stale' | 'off';

/** The RBAC index of this process, and how far it can be trusted. */
export interface AccessIndex {
  readonly index: RBACIndex;
  /** @param tenant whose bindings count; empty if the API server has no tenants */
  state(tenant: string): IndexState;
  /**
   * Why an enumeration from the index may lack something now: one sentence for users, without a full stop.
   *
   * @param tenant as of `state`
   * @param scope what is enumerated
   * @returns undefined if it lacks nothing
   */
  incompleteReason(tenant: string, scope: Scope): string | undefined;
  /**
   * Aborted when a reload has replaced the index, and at the end of the process: watches that are answered
   * from it end then.
   */
  readonly stopped: AbortSignal;
}

/**
 * `denied`: an authorizer has denied it, which RBAC never does; `unknown`: the API server has answered
 * something that this release does not know, and did not allow.
 */
export type ReviewedAccess = 'allowed' | 'notAllowed' | 'denied' | 'unknown';

/** What the API server says, to compare the index with it. Charged to Stonegate's own account. */
export interface VerificationSource {
  /**
   * A SubjectAccessReview.
   *
   * @throws StatusError if the API server does not answer it
   */
  review(user: RBACUser, question: Question, signal: AbortSignal): Promise<ReviewedAccess>;
}

/** A Keystone project or domain with its names. */
export interface NamedScope {
  readonly name: string;
  /** The id of the project's domain; a domain has its own id here. */
  readonly domainID: string;
}

/** Keystone's names for the ids in groups, and who holds a role. Needs the service credential. */
export interface KeystoneNames {
  /**
   * The projects and domains by id; perhaps as they were a minute ago.
   *
   * @throws StatusError KeystoneUnavailable
   */
  scopes(): Promise<{
    readonly projects: ReadonlyMap<string, NamedScope>;
    readonly domains: ReadonlyMap<string, NamedScope>;
  }>;
  /**
   * The enabled users who hold a role on a project or domain now, as `name@domain`, by the role's name.
   *
   * @throws StatusError KeystoneUnavailable
   */
  holders(
    kind: 'project' | 'domain',
    id: string,
  ): Promise<readonly { readonly user: string; readonly role: string }[]>;
}

/** Call `sample` or `sampleNamespaces` for each decision of the index that a response is made from. */
export interface Verifier {
  /** Compares the decision with the API server's, if it is drawn. Returns at once and never throws. */
  sample(user: RBACUser, question: Question, allowed: boolean): void;
  /**
   * The same for an enumeration, which counts as one decision.
   *
   * @param allowed as `namespacesAllowed` returned them
   */
  sampleNamespaces(
    subject: SubjectByNamespace,
    question: NamespacesQuestion,
    allowed: readonly string[],
  ): void;
}
