/**
 * What the features on top of the RBAC index need from outside. Implemented in `app/`, with adapters.
 */
import type { Question, RBACUser } from '../rbac/attributes.ts';

/** `unknown`: the API server has answered something that this release does not know, and did not allow. */
export type ReviewedAccess = 'allowed' | 'notAllowed' | 'unknown';

/** What the API server says, to compare the index with it. Charged to Stonegate's own account. */
export interface VerificationSource {
  /**
   * A SubjectAccessReview.
   *
   * @throws StatusError if the API server does not answer it
   */
  review(user: RBACUser, question: Question, signal: AbortSignal): Promise<ReviewedAccess>;
  /**
   * The API server's revision now.
   *
   * @throws StatusError if the API server does not answer
   */
  revision(signal: AbortSignal): Promise<number>;
}
