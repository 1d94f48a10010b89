/**
 * The port for reviewing a user's rights at the API server. Implemented in `kubernetes/access-reviews.ts`.
 */
import type { UserInfo } from './authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewStatus,
} from './authorization-v1.ts';
import type { ResourceRequest, TenantName } from './request-info.ts';
import type { Account, Sender } from './upstream-request.ts';

/** The reviewed access: one of the two, with its `tenant` if the API server has tenants. */
export type AccessAttributes =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes?: NonResourceAttributes };

type ResourceInfo = Pick<
  ResourceRequest,
  'verb' | 'apiGroup' | 'apiVersion' | 'namespace' | 'resource' | 'subresource' | 'name'
>;

/** @param tenant in which the right must count; undefined: in none */
export function resourceAttributesOf(
  { verb, apiGroup: group, apiVersion: version, namespace, resource, subresource, name }: ResourceInfo,
  tenant: TenantName | undefined,
): ResourceAttributes {
  const attributes = { verb, group, version, namespace, resource, subresource, name };
  return tenant === undefined ? attributes : { ...attributes, tenant };
}

export interface ReviewedStatus extends SubjectAccessReviewStatus {
  /**
   * Names of fields beside those of `authorization.k8s.io/v1`, if the access is not allowed: the answer may
   * depend on more than was asked (KEP-5681), and is neither yes nor no.
   */
  readonly unknownFields?: readonly [string, ...string[]];
}

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
  ): Promise<ReviewedStatus>;

  /**
   * A SelfSubjectAccessReview, asked with a client's own token.
   *
   * @param home the tenant in which the review is created; undefined if the API server has no tenants
   * @returns "not allowed" also if the client may not create reviews
   * @throws StatusError CredentialInvalid if the API server refuses the token, UpstreamUnavailable,
   *   UpstreamTimeout
   */
  reviewSelf(
    token: string,
    home: TenantName | undefined,
    attributes: AccessAttributes,
    account: Account,
    signal: AbortSignal,
  ): Promise<ReviewedStatus>;
}

/** The user whose access is reviewed: the one as whom the request would be sent, and its credential. */
export interface ReviewSubject {
  readonly user: UserInfo;
  readonly sender: Sender;
  /** The tenant named in reviews of this user; undefined if the API server has no tenants. */
  readonly home: TenantName | undefined;
  /** The account to which the review is charged. */
  readonly account: Account;
}

/**
 * Reviews a pass-through user with the user's own token and every other user by name: the name of a service
 * account contains no tenant, so that a review by name could be about another account of the same name.
 *
 * @throws StatusError as the reviewer does
 */
export function reviewOf(
  reviewer: AccessReviewer,
  { user, sender, home, account }: ReviewSubject,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<ReviewedStatus> {
  return sender.kind === 'client'
    ? reviewer.reviewSelf(sender.token, home, attributes, account, signal)
    : reviewer.review(user, attributes, account, signal);
}

/**
 * The same as yes or no: a denial counts also if another authorizer allows it.
 *
 * @throws StatusError as the reviewer does
 */
export async function isAllowed(
  reviewer: AccessReviewer,
  subject: ReviewSubject,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const { allowed, denied = false } = await reviewOf(reviewer, subject, attributes, signal);
  return allowed && !denied;
}
