/**
 * Metrics of provisioning. Gauges describe the last periodic run. Only one worker provisions, so workers are
 * not summed.
 */
import { Gauge, type Registry } from 'prom-client';
import { PROVISIONING_RESULTS, PROVISIONING_TRIGGERS, type ProvisioningRun } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

/** @param now milliseconds since the epoch */
export function createProvisioningMetrics(
  registers: Registry[],
  now: () => number,
): (run: ProvisioningRun) => void {
  const runs = createCounter(registers, {
    name: 'stonegate_bindings_runs_total',
    help: 'Provisioning runs, by trigger and result.',
    labels: { trigger: PROVISIONING_TRIGGERS, result: PROVISIONING_RESULTS },
  });
  const changes = createCounter(registers, {
    name: 'stonegate_bindings_changes_total',
    help: 'Objects that provisioning changed at the API server, by action.',
    labels: { action: ['create', 'update', 'delete'] },
  });
  const refusals = new Gauge({
    name: 'stonegate_bindings_refusals',
    help: 'Keystone projects, domains and roles that the last periodic run could not provision.',
    aggregator: 'max',
    registers,
  });
  const heldBack = new Gauge({
    name: 'stonegate_bindings_held_back',
    help: 'Role bindings whose deletion requires stonegate sync --force, as of the last periodic run.',
    aggregator: 'max',
    registers,
  });
  const lastSuccess = new Gauge({
    name: 'stonegate_bindings_last_success_timestamp_seconds',
    help: 'Time of the last periodic run without failures and refusals; 0 before the first.',
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
