/**
 * Metrics of the webhook.
 */
import { defineCounter } from '../../lib/metric.ts';

export const WEBHOOK_REVIEWS = defineCounter({
  name: 'stonegate_webhook_reviews_total',
  help: 'Reviews that API servers posted to the webhook, by kind and result.',
  labels: {
    kind: ['TokenReview', 'SubjectAccessReview', 'other'],
    result: ['authenticated', 'unauthenticated', 'allowed', 'no-opinion', 'error'],
  },
});
