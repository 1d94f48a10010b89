/**
 * Metrics of traces.
 */
import { defineCounter } from '../../lib/metric.ts';

export const SPANS = defineCounter({
  name: 'stonegate_spans_total',
  help: 'Spans of traced requests: exported to the collector, or lost.',
  labels: { result: ['exported', 'full', 'failed'] },
});
