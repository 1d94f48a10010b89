/**
 * The interfaces the webhooks need from outside.
 */
import type { SubjectAccessReviewSpec } from '../../kubernetes/authorization-v1.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { ProjectMember } from './keystone-auth-configuration.ts';

export interface KeystoneGroups {
  /**
   * The names of the user's groups in Keystone, requested with the user's own token.
   *
   * @throws StatusError KeystoneUnavailable, CredentialInvalid
   */
  namesOf(identity: Identity, token: string): Promise<readonly string[]>;
}

export interface AccessPolicy {
  allows(spec: SubjectAccessReviewSpec): boolean;
}

/** Rules that are read again while they are in use. */
export interface Live<T> {
  /** The last valid ones; undefined before the first read. */
  readonly current: T | undefined;
}

export interface ProjectSync {
  /** Creates missing objects in the background. Never throws; failures are logged. */
  request(member: ProjectMember): void;
}
