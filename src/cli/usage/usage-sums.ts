/**
 * Adds up the lines of usage files, in any order and with repetitions. Memory grows with the rows of the
 * result and with the gaps, not with the lines.
 */
import { addUsage, noUsage, type Usage, type UsageLine } from '../../features/usage/usage-v1alpha1.ts';
import { type LineRange, LineRanges } from './line-ranges.ts';

export const GROUPINGS = ['tenant', 'project', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface UsageQuery {
  /** Milliseconds since the epoch: records count whose period begins from here on. */
  readonly from: number;
  /** And before this. */
  readonly to: number;
  readonly by: Grouping;
}

export interface UsageRow {
  /** The key's parts: tenant; tenant and project; or day (UTC). */
  readonly key: readonly string[];
  readonly usage: Usage;
}

/** Lines of a process that were not read. */
export interface UsageGap {
  readonly process: string;
  /** How many; absent if the process has ended without its last lines. */
  readonly lines?: number;
  /** Milliseconds since the epoch; absent if they are the first lines of the process. */
  readonly from?: number;
  readonly to: number;
}

interface ReadProcess {
  readonly ranges: LineRanges;
  isFinal: boolean;
}

/** Each process writes at least one line a minute. */
const MINUTE = 60_000;
/** A process that is behind the others by more than this has ended. */
const SILENT = 2.5 * MINUTE;

export class UsageSums {
  readonly #query: UsageQuery;
  readonly #rows = new Map<string, UsageRow>();
  readonly #processes = new Map<string, ReadProcess>();
  /** The end of the last period that was read. */
  #latest = Number.NEGATIVE_INFINITY;

  constructor(query: UsageQuery) {
    this.#query = query;
  }

  add(line: UsageLine): void {
    const { process, sequence } = line;
    const [from, to] = [Date.parse(line.from), Date.parse(line.to)];
    const read = this.#processes.get(process) ?? { ranges: new LineRanges(), isFinal: false };
    this.#processes.set(process, read);
    if (!read.ranges.add(sequence, { from, to })) return;
    this.#latest = Math.max(this.#latest, to);
    if (line.kind === 'UsageHeartbeat') {
      if (line.final) read.isFinal = true;
      return;
    }
    if (from < this.#query.from || from >= this.#query.to) return;
    const key = keyOf(line, this.#query.by);
    const name = JSON.stringify(key);
    const row = this.#rows.get(name) ?? { key, usage: noUsage() };
    this.#rows.set(name, row);
    addUsage(row.usage, line.usage);
  }

  /** Whether nothing was read, of whatever time. */
  get isEmpty(): boolean {
    return this.#processes.size === 0;
  }

  /** The rows are sorted by their keys. */
  rows(): UsageRow[] {
    return [...this.#rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  }

  /** @returns the gaps that may lack something of the period that is asked about */
  gaps(): UsageGap[] {
    const { from, to } = this.#query;
    return [...this.#processes]
      .flatMap(([process, read]) => this.#gapsOf(process, read))
      .filter((gap) => gap.to > from && (gap.from ?? from) < to);
  }

  #gapsOf(process: string, { ranges, isFinal }: ReadProcess): UsageGap[] {
    const gaps: UsageGap[] = [];
    let before: LineRange | undefined;
    for (const range of ranges.all) {
      const lines = range.first - (before?.last ?? 0) - 1;
      // A missing line may be of the same minute as the one before it, or as the one after it.
      const from = before && { from: before.lastPeriod.from };
      if (lines > 0) gaps.push({ process, lines, ...from, to: range.firstPeriod.to });
      before = range;
    }
    const last = before?.lastPeriod.to ?? 0;
    if (!isFinal && last < this.#latest - SILENT) gaps.push({ process, from: last, to: last + MINUTE });
    return gaps;
  }
}

type RecordLine = Extract<UsageLine, { kind: 'UsageRecord' }>;

function keyOf({ tenant, project, from }: RecordLine, by: Grouping): string[] {
  switch (by) {
    case 'tenant':
      return [tenant];
    case 'project':
      return [tenant, project];
    case 'day':
      return [from.slice(0, 10)];
  }
}
