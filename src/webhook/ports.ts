/**
 * What the webhook needs of the rest of the house.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { SubjectAccessReviewSpec } from '../api/authorization-v1.ts';
import type { Identity, TenantName } from '../api/identity.ts';
import type { ProjectMember } from '../api/keystone-auth.ts';

/** Keystone's authenticator alone, and the tenancy mode. */
export interface KeystoneIdentities {
  /** @throws StatusError as the API would refuse the token */
  authenticate(token: string, source: string): Promise<Identity>;
  /** @throws StatusError where the identity is nobody here */
  describe(identity: Identity): { readonly tenant: TenantName; readonly user: UserInfo };
}

export interface GroupNames {
  /**
   * The names of the user's groups in Keystone, asked for with their own token.
   *
   * @throws StatusError KeystoneUnavailable, CredentialInvalid
   */
  of(identity: Identity, token: string): Promise<readonly string[]>;
}

export interface AccessPolicy {
  allows(question: SubjectAccessReviewSpec): boolean;
}

/** Rules that change while they are in use. */
export interface Live<T> {
  /** The last good ones; undefined where none has been read yet. */
  readonly current: T | undefined;
}

export interface ProjectSync {
  /** Makes what is missing, some time. Never throws; failures are logged. */
  request(member: ProjectMember): void;
}
