/**
 * Counters and histograms that every request touches. prom-client sorts, checks and hashes labels at each event, which
 * costs a request more than its authentication; here a series is found by its labels' values, one after the other. What
 * is counted is handed out as documents of prom-client's own form, which it writes and adds up.
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

/**
 * One thing for each series of a metric of up to three labels. There is no key of all values: it would be a new text at
 * each event, to be put together and hashed, while the hash of each value is known.
 */
class Labelled<V> {
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

  /** Each series' labels with what it has. */
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

export class Numbers {
  readonly #description: Description & { readonly type: 'counter' | 'gauge' };
  readonly #numbers: Labelled<{ value: number }>;

  constructor(description: Description & { readonly type: 'counter' | 'gauge' }) {
    this.#description = description;
    this.#numbers = new Labelled(description.labels, () => ({ value: 0 }));
  }

  /** The labels' values come in their order. */
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
  /** How many lay in each bucket; the last is of what is beyond all. */
  readonly buckets: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly #description: Description;
  readonly #bounds: readonly number[];
  readonly #series: Labelled<Observed>;

  /** @param bounds of the buckets, ascending */
  constructor(description: Description, bounds: readonly number[]) {
    this.#description = description;
    this.#bounds = bounds;
    this.#series = new Labelled(description.labels, () => ({
      buckets: Array(bounds.length + 1).fill(0),
      sum: 0,
      count: 0,
    }));
  }

  /** The labels' values come in their order. */
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
