/**
 * What Prometheus sees of provisioning. Gauges tell of the last periodic run: several workers are not added up, since one
 * of them alone provisions.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ProvisioningRun } from '../lib/telemetry.ts';

/** @param now milliseconds since the epoch */
export function createProvisioningMetrics(
  registers: Registry[],
  now: () => number,
): (run: ProvisioningRun) => void {
  const runs = new Counter({
    name: 'stonegate_bindings_runs_total',
    help: 'Runs of provisioning, by what began them and how they ended.',
    labelNames: ['trigger', 'result'],
    registers,
  });
  const changes = new Counter({
    name: 'stonegate_bindings_changes_total',
    help: 'Objects that provisioning has changed at the API server.',
    labelNames: ['action'],
    registers,
  });
  const refusals = new Gauge({
    name: 'stonegate_bindings_refusals',
    help: 'What of Keystone the last periodic run could not provision.',
    aggregator: 'max',
    registers,
  });
  const heldBack = new Gauge({
    name: 'stonegate_bindings_held_back',
    help: 'Bindings whose removal waits for stonegate sync --force, by the last periodic run.',
    aggregator: 'max',
    registers,
  });
  const lastSuccess = new Gauge({
    name: 'stonegate_bindings_last_success_timestamp_seconds',
    help: 'When a periodic run last left everything as Keystone says; 0 before the first.',
    aggregator: 'max',
    registers,
  });

  return (run) => {
    const { trigger, result } = run;
    runs.inc({ trigger, result });
    for (const [action, count] of Object.entries(run.changes ?? {})) changes.inc({ action }, count);
    if (trigger === 'request' || result === 'broken-off') return;
    if (run.refusals !== undefined) refusals.set(run.refusals);
    if (run.heldBack !== undefined) heldBack.set(run.heldBack);
    if (result === 'ok') lastSuccess.set(now() / 1000);
  };
}
