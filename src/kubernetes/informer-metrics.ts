/**
 * Metrics of informers. Each worker has its own: of the workers the oldest one counts.
 */
import { defineCounter, defineGauge, OPEN } from '../lib/metric.ts';

/** Why an informer listed its resource; `docs/reference/metrics.md` explains each. */
export const INFORMER_LIST_REASONS = [
  'start',
  'expired',
  'no-bookmarks',
  'garbage',
  'disorder',
  'restored',
  'off',
  'behind',
] as const;
export type InformerListReason = (typeof INFORMER_LIST_REASONS)[number];
export const INFORMER_FAILURES = ['unreachable', 'refused', 'status', 'silent', 'garbage'] as const;
export type InformerFailure = (typeof INFORMER_FAILURES)[number];

const LABELS = { informer: OPEN, resource: OPEN };

export const INFORMER_LISTS = defineCounter({
  name: 'stonegate_informer_lists_total',
  help: 'Lists of a resource by an informer, by reason.',
  labels: { ...LABELS, reason: INFORMER_LIST_REASONS },
});
export const INFORMER_FAILED = defineCounter({
  name: 'stonegate_informer_failures_total',
  help: 'Lists and watches of informers that failed.',
  labels: { ...LABELS, failure: INFORMER_FAILURES },
});
export const INFORMER_AGE = defineGauge({
  name: 'stonegate_informer_age_seconds',
  help: 'Time since what an informer keeps was last known to be complete.',
  labels: LABELS,
  aggregator: 'max',
});
