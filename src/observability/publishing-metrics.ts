/**
 * Metrics of publishing. Gauges describe the last run that was not broken off. Only one worker publishes, so
 * workers are not summed.
 */
import { Gauge, type Registry } from 'prom-client';
import { PUBLISHING_RESULTS, type PublishingRun } from '../lib/telemetry.ts';
import { createCounter } from './counter.ts';

/** @param now milliseconds since the epoch */
export function createPublishingMetrics(
  registers: Registry[],
  now: () => number,
): (run: PublishingRun) => void {
  const runs = createCounter(registers, {
    name: 'stonegate_publishing_runs_total',
    help: 'Runs of publishing, by result.',
    labels: { result: PUBLISHING_RESULTS },
  });
  const changes = createCounter(registers, {
    name: 'stonegate_publishing_changes_total',
    help: 'Copies of published objects that were changed at the API server, by action.',
    labels: { action: ['create', 'update', 'replace', 'delete'] },
  });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `stonegate_publishing_${name}`, help, aggregator: 'max', registers });
  const conflicts = gauge('conflicts', "Copies that are not there, because a tenant's own object is.");
  const refusals = gauge('refusals', 'Annotated objects that cannot be published, or not to a tenant.');
  const failures = gauge('failures', 'Copies and kinds of objects that could not be written or read.');
  const lastSuccess = gauge(
    'last_success_timestamp_seconds',
    'Time of the last run without failures; 0 before the first.',
  );

  return (run) => {
    const { result } = run;
    runs.inc({ result });
    for (const [action, count] of Object.entries(run.changes ?? {})) changes.inc({ action }, count);
    if (result === 'broken-off' || run.conflicts === undefined) return;
    conflicts.set(run.conflicts);
    refusals.set(run.refusals ?? 0);
    failures.set(run.failures ?? 0);
    if (result === 'ok') lastSuccess.set(now() / 1000);
  };
}
