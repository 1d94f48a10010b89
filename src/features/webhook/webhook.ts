/**
 * The webhook: one path for the TokenReviews and SubjectAccessReviews of API servers, as k8s-keystone-auth
 * serves them. A refusal is thrown and becomes a Status: the API server treats every response except 2xx as
 * an error and does not cache it.
 */

import type { Exchange } from '../../lib/exchange.ts';
import type { LabelValues } from '../../lib/metric.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { postedBody, sendReview } from '../../proxy/posted-review.ts';
import type { Live } from '../bindings/feature.ts';
import { policyAllows } from './keystone-policy.ts';
import { WEBHOOK_REVIEWS } from './metrics.ts';
import type { KeystonePolicy } from './policy-file.ts';
import { type AccessReviewStatus, encodeReview, type Review, readReview } from './review.ts';
import type { TokenReviewer } from './token-review.ts';

/** Enough for a token of 16 kB or a user with some thousand groups. */
const REVIEW_BYTES = 1024 * 1024;

export interface WebhookOptions extends Runtime {
  readonly path: string;
  readonly reviewToken: TokenReviewer;
  /** Undefined if no policy is configured. */
  readonly policy: Live<KeystonePolicy> | undefined;
  /** Milliseconds for the whole body. */
  readonly bodyTimeout: number;
}

interface Reviewed {
  readonly body: string;
  readonly result: LabelValues<typeof WEBHOOK_REVIEWS.labels>['result'];
  /** Fields of the log line. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @returns a function that serves one request; it throws StatusError for a refusal */
export function createWebhook(options: WebhookOptions): (exchange: Exchange) => Promise<void> {
  const { random, logger, telemetry } = options;
  return async (exchange) => {
    let kind: Review['kind'] | 'other' = 'other';
    try {
      const review = readReview(
        await postedBody(exchange, { ...options, bodyBytes: REVIEW_BYTES, what: 'a review' }),
      );
      kind = review.kind;
      const { body, result, fields } = await respond(review, exchange, options);
      const auditID = random.uuid();
      telemetry.count(WEBHOOK_REVIEWS, { kind, result });
      logger[kind === 'TokenReview' ? 'info' : 'debug'](
        { auditID, kind, result, ...fields },
        'webhook: reviewed',
      );
      sendReview(exchange, body, auditID);
    } catch (error) {
      telemetry.count(WEBHOOK_REVIEWS, { kind, result: 'error' });
      throw error;
    }
  };
}

async function respond(
  review: Review,
  { peerAddress = '' }: Exchange,
  { reviewToken, policy }: WebhookOptions,
): Promise<Reviewed> {
  if (review.kind === 'TokenReview') {
    const status = await reviewToken(review.token, peerAddress);
    const { authenticated, user, error } = status;
    return {
      body: encodeReview(review, status),
      result: authenticated ? 'authenticated' : 'unauthenticated',
      fields: user === undefined ? { reason: error } : { user: user.username, uid: user.uid },
    };
  }
  const status = decide(review, policy);
  const { user, resourceAttributes, nonResourceAttributes } = review.spec;
  return {
    body: encodeReview(review, status),
    result: status.allowed ? 'allowed' : 'no-opinion',
    fields: { user, ...resourceAttributes, ...nonResourceAttributes },
  };
}

function decide(
  { spec, tenant }: Extract<Review, { kind: 'SubjectAccessReview' }>,
  policy: Live<KeystonePolicy> | undefined,
): AccessReviewStatus {
  // A policy has no tenants; the user's tenant is the part of the user name before the first colon.
  if (tenant !== '' && spec.user?.split(':', 1)[0] !== tenant) {
    return { allowed: false, reason: 'the Keystone policy holds within the tenant of the user alone' };
  }
  if (policy === undefined) return { allowed: false, reason: 'no Keystone policy is configured' };
  if (policy.current === undefined) {
    return { allowed: false, evaluationError: 'the Keystone policy has not been read yet' };
  }
  if (policyAllows(policy.current, spec)) return { allowed: true, reason: 'allowed by the Keystone policy' };
  return { allowed: false, reason: 'no entry of the Keystone policy allows it' };
}
