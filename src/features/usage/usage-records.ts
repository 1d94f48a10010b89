/**
 * Writes usage records, a line each. Amounts are rounded to a thousandth, which is all that times in
 * milliseconds have.
 */
import { asciiJSON } from '../../lib/untrusted-text.ts';
import type { AuditSink } from '../../observability/audit-log.ts';
import { API_VERSION, MEASURES, type ProjectUsage, type Usage, type UsageLine } from './usage-v1alpha1.ts';

export interface Period {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

export class UsageRecords {
  readonly #sink: AuditSink;
  readonly #process: string;
  #sequence = 0;

  /** @param process identifies this process among all that there ever were */
  constructor(sink: AuditSink, process: string) {
    this.#sink = sink;
    this.#process = process;
  }

  /** @param final whether the process writes nothing more */
  write(rows: Iterable<ProjectUsage>, { from, to }: Period, final: boolean): void {
    const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    for (const { tenant, project, usage } of rows)
      this.#line({ ...this.#members('UsageRecord'), ...period, tenant, project, usage: written(usage) });
    this.#line({ ...this.#members('UsageHeartbeat'), ...period, ...(final && { final }) });
  }

  #members(kind: UsageLine['kind']) {
    this.#sequence += 1;
    const [process, sequence] = [this.#process, this.#sequence];
    return { apiVersion: API_VERSION, kind, id: `${process}-${sequence}`, process, sequence };
  }

  #line(line: object): void {
    this.#sink.write(asciiJSON(JSON.stringify(line)));
  }
}

function written(usage: ProjectUsage['usage']): Partial<Usage> {
  const amounts: Partial<Usage> = {};
  for (const measure of MEASURES) {
    const amount = Math.round((usage[measure] ?? 0) * 1_000) / 1_000;
    if (amount > 0) amounts[measure] = amount;
  }
  return amounts;
}
