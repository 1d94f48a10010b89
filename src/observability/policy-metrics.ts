/**
 * Metrics of cross-tenant policies and administrations. Each worker has its own set of policies: of the
 * workers the worst one counts.
 */
import { Gauge, type Registry } from 'prom-client';
import {
  POLICY_RESOURCES,
  POLICY_SOURCE_FAILURES,
  type PolicyMeasures,
  type Telemetry,
} from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createPolicyMetrics(
  registers: Registry[],
): Pick<Telemetry, 'policySourceFailed' | 'policiesInForce'> {
  const failures = createCounter(registers, {
    name: 'stonegate_policies_failures_total',
    help: 'Lists and watches that failed of what policies follow from.',
    labels: { resource: POLICY_RESOURCES, failure: POLICY_SOURCE_FAILURES },
  });
  return {
    policySourceFailed: (resource, failure) => failures.inc({ resource, failure }),
    policiesInForce: createPolicyGauges(registers),
  };
}

function createPolicyGauges(registers: Registry[]): Telemetry['policiesInForce'] {
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
  new Gauge({
    name: 'stonegate_policies_age_seconds',
    help: 'Time since the oldest proof of what policies follow from at the API server.',
    aggregator: 'max',
    registers,
    collect() {
      // `reset` would set it to 0.
      this.remove();
      const age = read?.().ageSeconds;
      if (age !== undefined) this.set(age);
    },
  });
  return (source) => {
    read = source;
    return () => {
      if (read === source) read = undefined;
    };
  };
}
