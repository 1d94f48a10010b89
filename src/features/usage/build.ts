/**
 * Usage by tenant and project: counted where requests end, written as records every minute, and shown as
 * metrics. From quota's counting it knows what pods request, not what they use.
 */
import { type Clock, runAt } from '../../lib/clock.ts';
import type { AuditSink } from '../../observability/audit-log.ts';
import type { RequestObserver } from '../../observability/request-observer.ts';
import { RequestUsage } from './request-usage.ts';
import { MAX_SHOWN_PROJECTS, type ProcessUsage } from './usage-metrics.ts';
import { createUsageRecords } from './usage-records.ts';
import { UsageTable } from './usage-table.ts';
import { NONE, type RequestedTotals } from './usage-v1alpha1.ts';

export interface UsageOptions {
  /** Identifies this process among all that there ever were. */
  readonly process: string;
  readonly sink: AuditSink;
  readonly clock: Clock;
  /** Empty on a replica that does not count. */
  readonly requested: () => readonly RequestedTotals[];
}

export interface UsageMeter {
  readonly observer: RequestObserver;
  /** For `/metrics/usage`. */
  current(): ProcessUsage;
  /** Writes the last records. */
  close(): void;
}

/** Tenants and projects with activity in one minute. */
const MAX_PROJECTS = 20_000;
const MINUTE = 60_000;

export function createUsageMeter({ process, sink, clock, requested }: UsageOptions): UsageMeter {
  const writeRecords = createUsageRecords(sink, process);
  /** Without the present minute. */
  const totals = new UsageTable(MAX_SHOWN_PROJECTS);
  let minute = new UsageTable(MAX_PROJECTS);
  let from = clock.now();
  const requests = new RequestUsage((tenant, project) => minute.of(tenant, project), clock);

  function endPeriod(at: number, final: boolean): void {
    // A clock that was set back makes a period without time, and the next one is right again.
    const to = Math.max(from, at);
    requests.chargeStreams();
    for (const totalsOfOne of requested()) chargeRequested(minute, totalsOfOne, (to - from) / 1_000);
    writeRecords(minute.rows(), { from, to }, final);
    totals.addAll(minute.rows());
    minute = new UsageTable(MAX_PROJECTS);
    from = at;
  }

  function nextMinute() {
    return runAt(clock, startOfMinute(clock.now()) + MINUTE, () => {
      endPeriod(startOfMinute(clock.now()), false);
      timer = nextMinute();
    });
  }

  // A process that is killed in its first minute is known too.
  writeRecords([], { from, to: from }, false);
  let timer = nextMinute();
  return {
    observer: requests,
    current() {
      requests.chargeStreams();
      const table = new UsageTable(MAX_SHOWN_PROJECTS);
      table.addAll(totals.rows());
      table.addAll(minute.rows());
      return { process, projects: [...table.rows()] };
    },
    close() {
      timer.cancel();
      endPeriod(clock.now(), true);
    },
  };
}

function startOfMinute(now: number): number {
  return now - (now % MINUTE);
}

function chargeRequested(table: UsageTable, totals: RequestedTotals, seconds: number): void {
  const usage = table.of(totals.tenant, totals.project || NONE);
  usage.requestedCpuSeconds += totals.cpuCores * seconds;
  usage.requestedMemoryByteSeconds += totals.memoryBytes * seconds;
  usage.podSeconds += totals.pods * seconds;
  usage.storageByteSeconds += totals.storageBytes * seconds;
}
