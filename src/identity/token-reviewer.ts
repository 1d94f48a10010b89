/**
 * Creates TokenReviews at the API server. Only `authenticated: true` authenticates a user; a response that
 * cannot be read is an error, so that it neither admits a client nor makes the client discard its token.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import { z } from 'zod';
import { StatusError } from '../errors/status-error.ts';
import { postReview } from '../kubernetes/access-reviewer.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import { type Clock, withDeadline } from '../lib/clock.ts';
import { goTextListsSchema, goTextSchema, goTextsSchema } from '../lib/go-json.ts';
import { parseJSON } from '../lib/parse-json.ts';
import type { TokenReviewClient } from './ports.ts';

export interface TokenReviewClientOptions {
  readonly fetcher: UpstreamFetcher;
  /** The token must be for one of these audiences; empty for the API server's own. */
  readonly audiences: readonly string[];
  /** Timeout of one review, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
/** The anonymous user: no token may authenticate as it. */
const ANONYMOUS = 'system:anonymous';
const UNAUTHENTICATED = 'system:unauthenticated';

const reviewSchema = z.object({
  kind: z.literal('TokenReview'),
  status: z.object({
    authenticated: z.boolean().default(false),
    error: z.string().default(''),
    audiences: goTextsSchema,
    user: z
      .object({
        username: goTextSchema,
        uid: goTextSchema,
        groups: goTextsSchema,
        extra: goTextListsSchema,
      })
      .optional(),
  }),
});
type ReviewStatus = z.infer<typeof reviewSchema>['status'];

export function createTokenReviewClient({
  fetcher,
  audiences,
  timeout,
  clock,
}: TokenReviewClientOptions): TokenReviewClient {
  return {
    async review(token, source) {
      const spec = audiences.length === 0 ? { token } : { token, audiences };
      const late = new Error('a token review took too long');
      const response = await withDeadline(clock, timeout, late, (signal) =>
        postReview(
          fetcher,
          { account: { kind: 'source', address: source }, sender: { kind: 'stonegate' }, target: PATH },
          { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec },
          signal,
        ),
      );
      return userOf(statusOf(response), audiences);
    },
  };
}

/** @throws StatusError UpstreamUnavailable, UpstreamRefusedCredential */
function statusOf({ status: http, body }: UpstreamResponse): ReviewStatus {
  if (http === 403) {
    throw new StatusError(
      'UpstreamRefusedCredential',
      'the API server does not let Stonegate create tokenreviews; its operator applies what `stonegate manifests rbac --config FILE` prints',
    );
  }
  if (http !== 200 && http !== 201) throw unusable(`its status was ${http}`);
  const review = parseJSON(body.toString('utf8'), reviewSchema);
  if (review === undefined) throw unusable('it is no review');
  return review.status;
}

function userOf(status: ReviewStatus, audiences: readonly string[]): UserInfo | undefined {
  const { authenticated, error, user } = status;
  if (!authenticated) return undefined;
  if (error !== '') throw unusable('it says yes, and that something failed');
  // A response without audiences comes from an API server that does not support them.
  if (audiences.length > 0 && !status.audiences.some((one) => audiences.includes(one))) return undefined;
  if (user === undefined || user.username === '') throw unusable('it names no user');
  return user.username === ANONYMOUS || user.groups.includes(UNAUTHENTICATED) ? undefined : user;
}

function unusable(cause: string): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to a token review is unusable", {
    cause,
  });
}
