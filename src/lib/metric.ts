/**
 * Metrics as data: each is defined next to the code that counts or measures it, and the registry is created
 * from all definitions. Label values come from closed sets, so that no client can create series.
 * https://prometheus.io/docs/practices/naming/
 */

/** Maps each label to all of its values. */
export type Labels = Readonly<Record<string, readonly string[]>>;

/** For a label whose values, in a bounded number, are known only while the process runs. */
export const OPEN: readonly string[] = [];

export type LabelValues<L extends Labels> = { readonly [K in keyof L]: L[K][number] };

/** A value for each of several series; a metric without labels has one at most. */
export type Readings<L extends Labels> = keyof L extends never
  ? number | undefined
  : readonly (readonly [LabelValues<L>, number])[];

interface Metric<L extends Labels> {
  readonly name: string;
  readonly help: string;
  readonly labels: L;
}

/**
 * Every series whose labels have closed sets of values exists from the start, at 0: Prometheus computes no
 * increase from the first value of a series, so an alert would miss the first event.
 * https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics
 */
export interface CounterDefinition<L extends Labels = Labels> extends Metric<L> {
  readonly type: 'counter';
}

export interface GaugeDefinition<L extends Labels = Labels> extends Metric<L> {
  readonly type: 'gauge';
  /** What counts of several workers. */
  readonly aggregator: 'sum' | 'max' | 'min';
  /** The value as long as it is neither set nor measured; without it there is no series then. */
  readonly initial?: number;
}

export type MetricDefinition = CounterDefinition | GaugeDefinition;

export function defineCounter<const L extends Labels>(
  definition: Omit<CounterDefinition<L>, 'type'>,
): CounterDefinition<L> {
  return { type: 'counter', ...definition };
}

export function defineGauge<const L extends Labels>(
  definition: Omit<GaugeDefinition<L>, 'type'>,
): GaugeDefinition<L> {
  return { type: 'gauge', ...definition };
}
