/**
 * Metrics of cross-tenant policies and administrations. Each worker has its own set of policies: of the
 * workers the worst one counts.
 */
import { Gauge, type Registry } from 'prom-client';
import { POLICY_RUN_RESULTS, type PolicyMeasures, type Telemetry } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

export function createPolicyMetrics(
  registers: Registry[],
): Pick<Telemetry, 'policiesProvisioned' | 'policiesInForce'> {
  const runs = createCounter(registers, {
    name: 'stonegate_policies_runs_total',
    help: 'Runs that make roles and bindings in tenants what policies say, by result.',
    labels: { result: POLICY_RUN_RESULTS },
  });
  const changes = createCounter(registers, {
    name: 'stonegate_policies_changes_total',
    help: 'Roles and bindings that were changed because of policies, by action.',
    labels: { action: ['create', 'update', 'delete'] },
  });
  return {
    policiesProvisioned({ result, changes: made }) {
      runs.inc({ result });
      for (const [action, count] of Object.entries(made)) changes.inc({ action }, count);
    },
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
  return (source) => {
    read = source;
    return () => {
      if (read === source) read = undefined;
    };
  };
}
