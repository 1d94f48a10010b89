/** Telemetry that records what is counted, set and measured. */
import type { Readings } from '../../src/lib/metric.ts';
import { noTelemetry, type Telemetry } from '../../src/lib/telemetry.ts';

export type Read = () => Readings<Record<string, readonly string[]>> | Readings<Record<never, never>>;

/**
 * @param counted gets the label values of each event
 * @param gauges gets the last value of each gauge by name
 * @param reads has what gauges are measured by at present
 */
export function recordedTelemetry(
  counted: string[] = [],
  gauges = new Map<string, number>(),
  reads = new Set<Read>(),
): Telemetry {
  return {
    ...noTelemetry,
    count(_counter, labels, amount = 1) {
      if (amount > 0) counted.push(Object.values(labels).join(' '));
    },
    set: ({ name }, _labels, value) => void gauges.set(name, value),
    measure(_gauge, read) {
      reads.add(read);
      return () => void reads.delete(read);
    },
  };
}
