/**
 * Metrics of the controllers. Gauges describe the last run that was not broken off; those of runs for single
 * projects have none. Only one worker runs a controller, so workers are not summed.
 */
import { Gauge, type Registry } from 'prom-client';
import { CONTROLLERS, RUN_RESULTS, type Telemetry } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

/** Only processes that have needed the limits have it. */
export function createLimitsAge(registers: Registry[]): Telemetry['keystoneLimitsInUse'] {
  let read: (() => number | undefined) | undefined;
  new Gauge({
    name: 'stonegate_keystone_limits_age_seconds',
    help: "Time since Keystone's limits were read; before that, since they were first needed.",
    aggregator: 'min',
    registers,
    collect() {
      const age = read?.();
      if (age === undefined) this.remove();
      else this.set(age);
    },
  });
  return (ageSeconds) => {
    read = ageSeconds;
    return () => {
      if (read === ageSeconds) read = undefined;
    };
  };
}

/** @param now milliseconds since the epoch */
export function createControllerMetrics(
  registers: Registry[],
  now: () => number,
): Pick<Telemetry, 'leads' | 'reconciled'> {
  const runs = createCounter(registers, {
    name: 'stonegate_controller_runs_total',
    help: 'Runs that bring desired objects about, by controller and result.',
    labels: { controller: CONTROLLERS, result: RUN_RESULTS },
  });
  const changes = createCounter(registers, {
    name: 'stonegate_controller_changes_total',
    help: 'Objects that were changed at the API server, by controller and action.',
    labels: { controller: CONTROLLERS, action: ['create', 'update', 'delete'] },
  });
  const gauge = (name: string, help: string) =>
    new Gauge({
      name: `stonegate_controller_${name}`,
      help,
      labelNames: ['controller'],
      aggregator: 'max',
      registers,
    });
  const leads = gauge('leads', 'Whether this replica runs the controller.');
  const refusals = gauge('refusals', 'What the last run found that cannot be as desired.');
  const failures = gauge('failures', 'Objects that the last run could not write, or not read.');
  const heldBack = gauge('held_back', 'Deletions that require stonegate sync --force.');
  const lastSuccess = gauge('last_success_timestamp_seconds', 'Time of the last run without failures.');

  return {
    leads: (controller, isLeader) => leads.set({ controller }, isLeader ? 1 : 0),
    reconciled(controller, run) {
      const { result } = run;
      runs.inc({ controller, result });
      for (const [action, count] of Object.entries(run.changes ?? {}))
        changes.inc({ controller, action }, count);
      if (controller === 'bindings-on-request' || result === 'broken-off' || run.changes === undefined)
        return;
      refusals.set({ controller }, run.refusals ?? 0);
      failures.set({ controller }, run.failures ?? 0);
      heldBack.set({ controller }, run.heldBack ?? 0);
      if (result === 'ok') lastSuccess.set({ controller }, now() / 1000);
    },
  };
}
