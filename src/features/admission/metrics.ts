/**
 * Metrics of the admission webhook.
 */
import { defineCounter } from '../../lib/metric.ts';

export const ADMISSION_REVIEWS = defineCounter({
  name: 'stonegate_admission_reviews_total',
  help: 'Reviews that API servers posted to the admission webhook, by result.',
  labels: { result: ['allowed', 'warned', 'denied', 'error', 'limited'] },
});
