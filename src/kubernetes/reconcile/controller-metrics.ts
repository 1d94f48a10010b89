/**
 * Metrics of the controllers. Gauges describe the last run that was not broken off; those of runs for single
 * projects have none. Only one worker runs a controller, so workers are not summed.
 */
import {
  defineCounter,
  defineGauge,
  type LabelValues,
  type MetricDefinition,
  OPEN,
} from '../../lib/metric.ts';
import type { Telemetry } from '../../lib/telemetry.ts';

const RUNS = defineCounter({
  name: 'stonegate_controller_runs_total',
  help: 'Runs that bring desired objects about, by controller and result.',
  labels: { controller: OPEN, result: ['ok', 'incomplete', 'held-back', 'broken-off', 'error'] },
});
const CHANGES = defineCounter({
  name: 'stonegate_controller_changes_total',
  help: 'Objects that were changed at the API server, by controller and action.',
  labels: { controller: OPEN, action: ['create', 'update', 'delete'] },
});

function gauge(name: string, help: string) {
  const labels = { controller: OPEN };
  return defineGauge({ name: `stonegate_controller_${name}`, help, labels, aggregator: 'max' });
}

export const LEADS = gauge('leads', 'Whether this replica runs the controller.');
const REFUSALS = gauge('refusals', 'What the last run found that cannot be as desired.');
const FAILURES = gauge('failures', 'Objects that the last run could not write, or not read.');
const HELD_BACK = gauge('held_back', 'Deletions that require stonegate sync --force.');
const LAST_SUCCESS = gauge('last_success_timestamp_seconds', 'Time of the last run without failures.');

/** @param controllers the names of all */
export function controllerMetrics(controllers: readonly string[]): MetricDefinition[] {
  return [RUNS, CHANGES, LEADS, REFUSALS, FAILURES, HELD_BACK, LAST_SUCCESS].map((metric) => ({
    ...metric,
    labels: { ...metric.labels, controller: controllers },
  }));
}

/** A run of a controller; what follows the result is absent if there was no plan. */
export interface ControllerRun {
  /**
   * `incomplete`: a change failed, or a source could not be read. `held-back`: deletions wait for an
   * operator. `error`: no plan could be computed, or the lease could not be held.
   */
  readonly result: LabelValues<typeof RUNS.labels>['result'];
  readonly planned?: {
    /** Whether it is about a part of the objects, so that it says nothing about the others. */
    readonly isPartial: boolean;
    /** The changes that were made. */
    readonly changes: Readonly<Record<LabelValues<typeof CHANGES.labels>['action'], number>>;
    /** The number of objects that cannot be brought into the desired state. */
    readonly refusals: number;
    readonly failures: number;
    readonly heldBack: number;
  };
}

/** @param now milliseconds since the epoch */
export function countRun(
  telemetry: Telemetry,
  controller: string,
  { result, planned }: ControllerRun,
  now: number,
): void {
  telemetry.count(RUNS, { controller, result });
  if (planned === undefined) return;
  const { isPartial, changes, refusals, failures, heldBack } = planned;
  for (const action of CHANGES.labels.action)
    telemetry.count(CHANGES, { controller, action }, changes[action]);
  if (isPartial || result === 'broken-off') return;
  telemetry.set(REFUSALS, { controller }, refusals);
  telemetry.set(FAILURES, { controller }, failures);
  telemetry.set(HELD_BACK, { controller }, heldBack);
  if (result === 'ok') telemetry.set(LAST_SUCCESS, { controller }, now / 1000);
}
