/**
 * Creates TokenReviews at the API server. Only `authenticated: true` authenticates a user; a response that
 * cannot be read is an error, so that it neither admits a client nor makes the client discard its token.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import type { Extra, UserInfo } from '../api/authentication-v1.ts';
import type { TokenReviewClient } from '../authentication/ports.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';

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

export function createTokenReviewClient({
  fetcher,
  audiences,
  timeout,
  clock,
}: TokenReviewClientOptions): TokenReviewClient {
  return {
    async review(token, source) {
      const spec = audiences.length === 0 ? { token } : { token, audiences };
      const deadline = new AbortController();
      const timer = clock.after(timeout, () => deadline.abort(new Error('a token review took too long')));
      try {
        const response = await fetcher.fetch(
          {
            account: { kind: 'source', address: source },
            sender: { kind: 'stonegate' },
            method: 'POST',
            target: PATH,
            headers: [
              ['Content-Type', 'application/json'],
              ['Accept', 'application/json'],
            ],
            body: JSON.stringify({ kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec }),
          },
          deadline.signal,
        );
        return userOf(statusOf(response), audiences);
      } finally {
        timer.cancel();
      }
    },
  };
}

/** @throws StatusError UpstreamUnavailable, UpstreamRefusedCredential */
function statusOf({ status: http, body }: UpstreamResponse): JSONObject {
  if (http === 403) {
    throw new StatusError(
      'UpstreamRefusedCredential',
      'the API server does not let Stonegate create tokenreviews; its operator applies what `stonegate manifests rbac --config FILE` prints',
    );
  }
  if (http !== 200 && http !== 201) throw unusable(`its status was ${http}`);
  const review = parse(body);
  if (!isJSONObject(review) || review.kind !== 'TokenReview') throw unusable('it is no review');
  if (!isJSONObject(review.status)) throw unusable('it has no status');
  return review.status;
}

function userOf(status: JSONObject, audiences: readonly string[]): UserInfo | undefined {
  const { authenticated = false, error = '', user } = status;
  if (typeof authenticated !== 'boolean' || typeof error !== 'string')
    throw unusable('its status says neither yes nor no');
  if (!authenticated) return undefined;
  if (error !== '') throw unusable('it says yes, and that something failed');
  // A response without audiences comes from an API server that does not support them.
  if (audiences.length > 0 && !texts(status.audiences).some((one) => audiences.includes(one)))
    return undefined;
  if (!isJSONObject(user)) throw unusable('it names no user');
  const { username, uid = '' } = user;
  if (typeof username !== 'string' || username === '' || typeof uid !== 'string')
    throw unusable('its user has no name');
  const groups = texts(user.groups);
  if (username === ANONYMOUS || groups.includes(UNAUTHENTICATED)) return undefined;
  return { username, uid, groups, extra: extraOf(user.extra) };
}

function extraOf(value: unknown): Extra {
  if (value === undefined || value === null) return {};
  if (!isJSONObject(value)) throw unusable('its extra is no object');
  return Object.fromEntries(Object.entries(value).map(([key, values]) => [key, texts(values)]));
}

function texts(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((member) => typeof member === 'string')) return value;
  throw unusable('something in it is no list of texts');
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // Not as a cause: the parser's message quotes the response, which concerns a token.
    throw unusable('it is no JSON');
  }
}

function unusable(cause: string): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to a token review is unusable", {
    cause,
  });
}
