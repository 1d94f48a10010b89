/**
 * The registry of all metrics that are defined as data, with prom-client.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { CounterDefinition, GaugeDefinition, Labels, MetricDefinition } from '../lib/metric.ts';

/**
 * Interval in milliseconds at which the event loop delay is sampled; a short one would wake an idle process.
 */
const LOOP_SAMPLING_MS = 10_000;

type Series = Readonly<Record<string, string>>;
type Read = () => number | undefined | readonly (readonly [Series, number])[];

export function createMetricRegistry(definitions: readonly MetricDefinition[]) {
  const prometheus = new Registry();
  const registers = [prometheus];
  collectDefaultMetrics({ register: prometheus, eventLoopMonitoringPrecision: LOOP_SAMPLING_MS });
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, MeasuredGauge>();
  for (const definition of definitions)
    if (definition.type === 'counter') counters.set(definition.name, createCounter(definition, registers));
    else gauges.set(definition.name, new MeasuredGauge(definition, registers));
  return {
    prometheus,
    count({ name }: CounterDefinition, labels: Series, amount = 1) {
      registered(name, counters).inc(labels, amount);
    },
    set({ name }: GaugeDefinition, labels: Series, value: number) {
      registered(name, gauges).gauge.set(labels, value);
    },
    measure: ({ name }: GaugeDefinition, read: Read) => registered(name, gauges).measure(read),
  };
}

/** @throws Error if the owner's list of metrics does not have the metric */
function registered<T>(name: string, metrics: ReadonlyMap<string, T>): T {
  const metric = metrics.get(name);
  if (metric === undefined) throw new Error(`the metric ${name} is not registered`);
  return metric;
}

function createCounter({ name, help, labels }: CounterDefinition, registers: Registry[]): Counter {
  const counter = new Counter({ name, help, labelNames: Object.keys(labels), registers });
  for (const series of combinations(labels)) counter.inc(series, 0);
  return counter;
}

function combinations(labels: Labels): Series[] {
  return Object.entries(labels).reduce<Series[]>(
    (all, [name, values]) => all.flatMap((series) => values.map((value) => ({ ...series, [name]: value }))),
    [{}],
  );
}

class MeasuredGauge {
  readonly gauge: Gauge;
  readonly #initial: number | undefined;
  readonly #reads = new Set<Read>();

  constructor({ name, help, labels, aggregator, initial }: GaugeDefinition, registers: Registry[]) {
    const collect = () => this.#collect();
    this.gauge = new Gauge({ name, help, labelNames: Object.keys(labels), aggregator, registers, collect });
    this.#initial = initial;
    this.#reset();
  }

  measure(read: Read): () => void {
    this.#reads.add(read);
    return () => {
      this.#reads.delete(read);
      this.#reset();
    };
  }

  #collect(): void {
    if (this.#reads.size > 0) this.#reset();
    for (const read of this.#reads) {
      const readings = read();
      if (typeof readings === 'number') this.gauge.set(readings);
      else for (const [labels, value] of readings ?? []) this.gauge.set(labels, value);
    }
  }

  #reset(): void {
    this.gauge.reset();
    if (this.#initial === undefined) this.gauge.remove({});
    else this.gauge.set(this.#initial);
  }
}
