/**
 * Counters and histograms that every request touches. prom-client sorts, checks and hashes labels at each event, which
 * costs a request more than its authentication; here a series is found by its joined label values. What is counted is
 * handed out as documents of prom-client's own form, which it writes and adds up.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */

interface Description {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Where it is not the metric's own. */
  readonly metricName?: string;
}

/** As prom-client's registries give them out as JSON. */
export interface MetricDocument {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly Sample[];
}

/** In no label's values. */
const SEPARATOR = '\n';

export class Numbers {
  readonly #description: Description & { readonly type: 'counter' | 'gauge' };
  readonly #values = new Map<string, number>();

  constructor(description: Description & { readonly type: 'counter' | 'gauge' }) {
    this.#description = description;
  }

  /** @param labelled the labels' values in their order, joined by `joined` where there are several */
  add(labelled: string, amount: number): void {
    this.#values.set(labelled, (this.#values.get(labelled) ?? 0) + amount);
  }

  document(): MetricDocument {
    const { name, help, type, labels } = this.#description;
    const values = [...this.#values].map(([key, value]) => ({ labels: labelsOf(labels, key), value }));
    return { name, help, type, aggregator: 'sum', values };
  }
}

interface Observed {
  /** How many lay in each bucket; the last is of what is beyond all. */
  readonly buckets: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly #description: Description;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Observed>();

  /** @param bounds of the buckets, ascending */
  constructor(description: Description, bounds: readonly number[]) {
    this.#description = description;
    this.#bounds = bounds;
  }

  /** @param labelled as `Numbers.add` takes them */
  observe(labelled: string, value: number): void {
    let series = this.#series.get(labelled);
    if (series === undefined) {
      series = { buckets: Array(this.#bounds.length + 1).fill(0), sum: 0, count: 0 };
      this.#series.set(labelled, series);
    }
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at += 1;
    series.buckets[at] = (series.buckets[at] ?? 0) + 1;
    series.sum += value;
    series.count += 1;
  }

  document(): MetricDocument {
    const { name, help, labels: names } = this.#description;
    const values = [...this.#series].flatMap(([key, { buckets, sum, count }]) => {
      const labels = labelsOf(names, key);
      let below = 0;
      const cumulative = buckets.map((inside, at): Sample => {
        below += inside;
        return {
          labels: { ...labels, le: this.#bounds[at] ?? '+Inf' },
          value: below,
          metricName: `${name}_bucket`,
        };
      });
      return [
        ...cumulative,
        { labels, value: sum, metricName: `${name}_sum` },
        { labels, value: count, metricName: `${name}_count` },
      ];
    });
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}

/** The key of a series with several labels. */
export function joined(...values: readonly string[]): string {
  return values.join(SEPARATOR);
}

function labelsOf(names: readonly string[], key: string): Record<string, string> {
  const values = key.split(SEPARATOR);
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}
