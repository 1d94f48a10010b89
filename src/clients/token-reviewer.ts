/**
 * Asks the API server whose token something is. Exactly what a TokenReview answers counts, and nothing that merely
 * looks like a yes: an answer without `authenticated: true` is a no, and one that cannot be read is neither, so that
 * nobody is let in by it and nobody's client throws its token away.
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
  /** One of these the token must be for; the API server's own where there are none. */
  readonly audiences: readonly string[];
  /** Milliseconds for one review: people wait for it. */
  readonly timeout: number;
  readonly clock: Clock;
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
/** Nobody: an API server must not vouch for that, whatever the token. */
const NOBODY = 'system:anonymous';
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
      const patience = new AbortController();
      const timer = clock.after(timeout, () => patience.abort(new Error('a token review took too long')));
      try {
        const answer = await fetcher.fetch(
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
          patience.signal,
        );
        return userOf(statusOf(answer), audiences);
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
  // An API server that knows no audiences answers without, which is no agreement.
  if (audiences.length > 0 && !texts(status.audiences).some((one) => audiences.includes(one)))
    return undefined;
  if (!isJSONObject(user)) throw unusable('it names no user');
  const { username, uid = '' } = user;
  if (typeof username !== 'string' || username === '' || typeof uid !== 'string')
    throw unusable('its user has no name');
  const groups = texts(user.groups);
  if (username === NOBODY || groups.includes(UNAUTHENTICATED)) return undefined;
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
    // Not as a cause: a parser's words quote what they stumble over, and that is about a token.
    throw unusable('it is no JSON');
  }
}

function unusable(cause: string): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to a token review is unusable", {
    cause,
  });
}
