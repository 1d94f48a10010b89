/**
 * The port for reviewing a user's rights at the API server. Implemented in `clients/kube-apiserver.ts`.
 */

import type { UserInfo } from '../api/authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewStatus,
} from '../api/authorization-v1.ts';
import type { TenantName } from '../api/identity.ts';
import type { Account, Sender } from '../api/upstream-request.ts';

/** What is asked: one of the two, with its `tenant` where the API server knows tenants. */
export type AccessAttributes =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes?: NonResourceAttributes };

export interface AccessReviewer {
  /**
   * A SubjectAccessReview, asked as Stonegate itself.
   *
   * @param user as impersonated
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
   */
  review(
    user: UserInfo,
    attributes: AccessAttributes,
    account: Account,
    signal: AbortSignal,
  ): Promise<SubjectAccessReviewStatus>;

  /**
   * A SelfSubjectAccessReview, asked with a client's own token.
   *
   * @param home the tenant it is asked in; undefined where the API server knows no tenants
   * @returns "not allowed" also where the client may not ask
   * @throws StatusError CredentialInvalid where the API server takes the token no more, UpstreamUnavailable,
   *   UpstreamTimeout
   */
  reviewSelf(
    token: string,
    home: TenantName | undefined,
    attributes: AccessAttributes,
    account: Account,
    signal: AbortSignal,
  ): Promise<SubjectAccessReviewStatus>;
}

/** Whom a question is about: the user whom the request would be made as, by whatever credential. */
export interface ReviewSubject {
  readonly user: UserInfo;
  readonly sender: Sender;
  /** The tenant an access review of theirs names; undefined where the API server knows no tenants. */
  readonly home: TenantName | undefined;
  /** The user's tenant, as the account of the question. */
  readonly tenant: TenantName;
}

/**
 * Asks about whoever goes through with their own token by that token, and about everybody else by name: the
 * name of a service account says no tenant, so that a review by name would be about another account of the
 * same name.
 *
 * @throws StatusError as the reviewer does
 */
export function reviewOf(
  reviewer: AccessReviewer,
  { user, sender, home, tenant }: ReviewSubject,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<SubjectAccessReviewStatus> {
  const account: Account = { kind: 'tenant', tenant };
  return sender.kind === 'client'
    ? reviewer.reviewSelf(sender.token, home, attributes, account, signal)
    : reviewer.review(user, attributes, account, signal);
}
