/**
 * Access reviews: with Stonegate's own credential about other users, or with a client's token about that
 * client. A response that is not a valid review is thrown: an error never becomes a permission.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { isJSONObject, readJSONObject } from '../lib/json-object.ts';
import type { UserInfo } from './authentication-v1.ts';
import type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from './authorization-v1.ts';
import type { ResourceRequest, TenantName } from './request-info.ts';
import type { UpstreamFetcher, UpstreamResponse } from './upstream-ports.ts';
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

export interface AccessReviewerOptions {
  readonly fetcher: UpstreamFetcher;
  /** Path of a review about this tenant; undefined if the API server has no tenants. */
  readonly path: (
    tenant: TenantName | undefined,
    resource: 'subjectaccessreviews' | 'selfsubjectaccessreviews',
  ) => string;
}

export type AccessReviewer = ReturnType<typeof createAccessReviewer>;

export function createAccessReviewer({ fetcher, path }: AccessReviewerOptions) {
  return {
    /**
     * A SubjectAccessReview, created as Stonegate itself.
     *
     * @param user as impersonated
     * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
     */
    async review(
      user: UserInfo,
      attributes: AccessAttributes,
      account: Account,
      signal: AbortSignal,
    ): Promise<ReviewedStatus> {
      const tenant = 'resourceAttributes' in attributes ? attributes.resourceAttributes.tenant : undefined;
      const request = {
        account,
        sender: { kind: 'stonegate' },
        target: path(tenant, 'subjectaccessreviews'),
      } as const;
      const review = reviewAbout('SubjectAccessReview', { ...subjectOf(user), ...attributes });
      const response = await postReview(fetcher, request, review, signal);
      if (response.status === 403)
        throw new StatusError(
          'UpstreamRefusedCredential',
          'the API server does not let Stonegate create subjectaccessreviews; its operator applies what `stonegate manifests rbac --config FILE` prints',
        );
      return reviewStatusOf(response, review.kind);
    },

    /**
     * A SelfSubjectAccessReview, created with a client's own token.
     *
     * @param home the tenant in which the review is created; undefined if the API server has no tenants
     * @returns "not allowed" also if the client may not create reviews
     * @throws StatusError CredentialInvalid if the API server refuses the token, UpstreamUnavailable,
     *   UpstreamTimeout
     */
    async reviewSelf(
      token: string,
      home: TenantName | undefined,
      attributes: AccessAttributes,
      account: Account,
      signal: AbortSignal,
    ): Promise<ReviewedStatus> {
      const request = {
        account,
        sender: { kind: 'client', token },
        target: path(home, 'selfsubjectaccessreviews'),
      } as const;
      const review = reviewAbout('SelfSubjectAccessReview', attributes);
      const response = await postReview(fetcher, request, review, signal);
      if (response.status === 401) throw unauthorized('the API server no longer takes the token');
      if (response.status === 403)
        return { allowed: false, reason: 'the API server does not let the user ask what it may do' };
      return reviewStatusOf(response, review.kind);
    },
  };
}

export function reviewAbout(
  kind: 'SubjectAccessReview' | 'SelfSubjectAccessReview',
  spec: SubjectAccessReviewSpec,
) {
  return { kind, apiVersion: 'authorization.k8s.io/v1', spec };
}

/** Creates a review at the API server. @throws StatusError as the fetcher does */
export function postReview(
  fetcher: UpstreamFetcher,
  request: { readonly account: Account; readonly sender: Sender; readonly target: string },
  review: object,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const headers = [
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json'],
  ] as const;
  return fetcher.fetch({ ...request, method: 'POST', headers, body: JSON.stringify(review) }, signal);
}

function subjectOf(user: UserInfo): SubjectAccessReviewSpec {
  return {
    user: user.username,
    groups: user.groups,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  };
}

/** Reads the status of a review strictly: only `allowed: true` is a permission. */
export function reviewStatusOf({ status: http, body }: UpstreamResponse, kind: string): ReviewedStatus {
  if (http !== 200 && http !== 201) throw unusable(`its status was ${http}`);
  const review = readJSONObject(body);
  if (review?.kind !== kind) throw unusable('it is no review');
  const status = review.status;
  if (!isJSONObject(status)) throw unusable('it has no status');
  const { allowed, denied, reason, evaluationError, ...unknown } = status;
  if (typeof allowed !== 'boolean' || (denied !== undefined && typeof denied !== 'boolean')) {
    throw unusable('its status says neither yes nor no');
  }
  const [field, ...fields] = Object.keys(unknown);
  const isAllowed = allowed && denied !== true;
  return {
    allowed: isAllowed,
    ...(field !== undefined &&
      !isAllowed &&
      denied !== true && { unknownFields: [field, ...fields] as const }),
    ...(denied === undefined ? {} : { denied }),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof evaluationError === 'string' ? { evaluationError } : {}),
  };
}

function unusable(cause: unknown): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to an access review is unusable", {
    cause,
  });
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
 * Returns the result as yes or no: a denial counts even if another authorizer allows the access.
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
