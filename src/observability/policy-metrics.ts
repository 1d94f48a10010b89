/**
 * Metrics of cross-tenant policies and administrations. Each worker has its own set of policies: of the
 * workers the worst one counts.
 */
import { Gauge, type Registry } from 'prom-client';
import type { PolicyMeasures, Telemetry } from '../lib/telemetry.ts';

export function createPolicyGauges(registers: Registry[]): Telemetry['policiesInForce'] {
  let read: (() => PolicyMeasures) | undefined;
  new Gauge({
    name: 'stonegate_policies',
    help: 'Policies in force by form; not-ready: objects and configured administrations that grant nothing.',
    labelNames: ['form'],
    aggregator: 'min',
    registers,
    collect() {
      this.reset();
      if (read === undefined) return;
      const { inForce, notReady } = read();
      for (const [form, count] of Object.entries(inForce)) this.set({ form }, count);
      this.set({ form: 'not-ready' }, notReady);
    },
  });
  return (source) => {
    read = source;
    return () => {
      if (read === source) read = undefined;
    };
  };
}
