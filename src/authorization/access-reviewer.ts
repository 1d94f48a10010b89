/**
 * The port for asking the API server what a user may do. Implemented in `clients/kube-apiserver.ts`.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type {
  ResourceAttributes,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '../api/authorization-v1.ts';

export interface AccessReviewer {
  /**
   * A SubjectAccessReview, asked as Stonegate itself.
   *
   * @param user as impersonated
   * @param attributes with their `tenant` where the API server knows tenants
   * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
   */
  review(
    user: UserInfo,
    attributes:
      | { readonly resourceAttributes: ResourceAttributes }
      | Pick<SubjectAccessReviewSpec, 'nonResourceAttributes'>,
    signal: AbortSignal,
  ): Promise<SubjectAccessReviewStatus>;
}
