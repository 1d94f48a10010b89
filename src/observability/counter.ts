/**
 * Counters whose labels have closed sets of values. Every series exists from the start, at 0: Prometheus
 * computes no increase from the first value of a series, so an alert would miss the first event.
 * https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics
 */
import { Counter, type Registry } from 'prom-client';

export interface CounterOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Label → all of its values. */
  readonly labels: Readonly<Record<L, readonly string[]>>;
}

export function createCounter<L extends string>(
  registers: Registry[],
  { name, help, labels }: CounterOptions<L>,
): Counter<L> {
  const labelNames = namesOf(labels);
  const counter = new Counter({ name, help, labelNames, registers });
  for (const series of combinations(labelNames, labels)) counter.inc(series, 0);
  return counter;
}

function namesOf<L extends string>(labels: Readonly<Record<L, unknown>>): L[] {
  const names: L[] = [];
  for (const name in labels) names.push(name);
  return names;
}

function combinations<L extends string>(
  names: readonly L[],
  labels: CounterOptions<L>['labels'],
): Partial<Record<L, string>>[] {
  return names.reduce<Partial<Record<L, string>>[]>(
    (all, name) => all.flatMap((series) => labels[name].map((value) => ({ ...series, [name]: value }))),
    [{}],
  );
}
