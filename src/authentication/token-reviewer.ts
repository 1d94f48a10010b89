/**
 * The port for asking the API server whose token something is. Implemented in `clients/token-reviewer.ts`.
 */
import type { UserInfo } from '../api/authentication-v1.ts';

export interface TokenReviewer {
  /**
   * A TokenReview, asked as Stonegate itself.
   *
   * @param source the address of the client that sent the token, on whose account the API server is asked
   * @returns undefined where the API server does not vouch for the token, or not for the audiences asked for
   * @throws StatusError UpstreamUnavailable where the API server cannot be asked or its answer cannot be believed,
   *   UpstreamRefusedCredential where Stonegate may not ask
   */
  review(token: string, source: string): Promise<UserInfo | undefined>;
}
