/**
 * Writes usage records, a line each. Amounts are rounded to a thousandth, which is all that times in
 * milliseconds have.
 */
import { asciiJSON } from '../../lib/untrusted-text.ts';
import type { AuditSink } from '../../observability/audit-log.ts';
import { API_VERSION, MEASURES, type ProjectUsage, type Usage, type UsageLine } from './usage-v1alpha1.ts';

interface Period {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/**
 * @param process identifies this process among all that there ever were
 * @returns a function that writes a period; `final` if the process writes nothing more
 */
export function createUsageRecords(sink: AuditSink, process: string) {
  let sequence = 0;

  function writeLine(kind: UsageLine['kind'], members: object): void {
    sequence += 1;
    const line = {
      apiVersion: API_VERSION,
      kind,
      id: `${process}-${sequence}`,
      process,
      sequence,
      ...members,
    };
    sink.write(asciiJSON(JSON.stringify(line)));
  }

  return (rows: Iterable<ProjectUsage>, { from, to }: Period, final: boolean): void => {
    const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    for (const { tenant, project, usage: exact } of rows) {
      const usage = written(exact);
      // A namespace in which nothing runs has a row too.
      if (Object.keys(usage).length > 0) writeLine('UsageRecord', { ...period, tenant, project, usage });
    }
    writeLine('UsageHeartbeat', { ...period, ...(final && { final }) });
  };
}

function written(usage: ProjectUsage['usage']): Partial<Usage> {
  const amounts: Partial<Usage> = {};
  for (const measure of MEASURES) {
    const amount = Math.round((usage[measure] ?? 0) * 1_000) / 1_000;
    if (amount > 0) amounts[measure] = amount;
  }
  return amounts;
}
