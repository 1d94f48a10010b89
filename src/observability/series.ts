/**
 * Counters, gauges and histograms for the request path. prom-client sorts, checks and hashes labels for each
 * event, which costs more than authentication; here a series is found by nested maps, one per label, without
 * building a key.
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
  /** If it differs from the metric's name. */
  readonly metricName?: string;
}

/** The JSON form of prom-client's registries. */
export interface MetricDocument {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly Sample[];
}

/**
 * One value per series of a metric with up to three labels. A joined key would be a new string for each
 * event, which has to be hashed; the hash of each label value is cached.
 */
class SeriesMap<V> {
  readonly #names: readonly string[];
  readonly #make: () => V;
  readonly #series = new Map<string, Map<string, Map<string, V>>>();

  constructor(names: readonly string[], make: () => V) {
    this.#names = names;
    this.#make = make;
  }

  of(first: string, second: string, third: string): V {
    const found = this.#series.get(first)?.get(second)?.get(third);
    return found ?? this.#add(first, second, third);
  }

  #add(first: string, second: string, third: string): V {
    const made = this.#make();
    const seconds = this.#series.get(first) ?? new Map<string, Map<string, V>>();
    const thirds = seconds.get(second) ?? new Map<string, V>();
    this.#series.set(first, seconds.set(second, thirds.set(third, made)));
    return made;
  }

  /** The labels and the value of each series. */
  all(): [labels: Record<string, string>, has: V][] {
    return [...this.#series].flatMap(([first, seconds]) =>
      [...seconds].flatMap(([second, thirds]) =>
        [...thirds].map(([third, has]): [Record<string, string>, V] => {
          const values = [first, second, third];
          return [Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? ''])), has];
        }),
      ),
    );
  }
}

export class LabelledNumber {
  readonly #description: Description & { readonly type: 'counter' | 'gauge' };
  readonly #numbers: SeriesMap<{ value: number }>;

  constructor(description: Description & { readonly type: 'counter' | 'gauge' }) {
    this.#description = description;
    this.#numbers = new SeriesMap(description.labels, () => ({ value: 0 }));
  }

  /** Label values in the order of the labels. */
  add(amount: number, first: string, second = '', third = ''): void {
    this.#numbers.of(first, second, third).value += amount;
  }

  document(): MetricDocument {
    const { name, help, type } = this.#description;
    const values = this.#numbers.all().map(([labels, { value }]) => ({ labels, value }));
    return { name, help, type, aggregator: 'sum', values };
  }
}

interface Observed {
  /** Counts per bucket; the last one is for values above all bounds. */
  readonly buckets: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly #description: Description;
  readonly #bounds: readonly number[];
  readonly #series: SeriesMap<Observed>;

  /** @param bounds upper bounds of the buckets, ascending */
  constructor(description: Description, bounds: readonly number[]) {
    this.#description = description;
    this.#bounds = bounds;
    this.#series = new SeriesMap(description.labels, () => ({
      buckets: Array(bounds.length + 1).fill(0),
      sum: 0,
      count: 0,
    }));
  }

  /** Label values in the order of the labels. */
  observe(value: number, first: string, second = ''): void {
    const series = this.#series.of(first, second, '');
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at += 1;
    series.buckets[at] = (series.buckets[at] ?? 0) + 1;
    series.sum += value;
    series.count += 1;
  }

  document(): MetricDocument {
    const { name, help } = this.#description;
    const values = this.#series.all().flatMap(([labels, { buckets, sum, count }]) => {
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
