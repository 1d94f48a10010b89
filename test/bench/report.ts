/** Tables for people. */
import type { Row } from './rounds.ts';
import type { Scenario } from './scenarios.ts';
import type { Spread } from './statistics.ts';

type Cell = string | number | readonly [number, number];

/** Rows of the same members as a table of Markdown. */
export function table<R extends object>(rows: readonly R[], columns: readonly (keyof R & string)[]): string {
  const cells = [columns, ...rows.map((row) => columns.map((column) => show(row[column])))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => String(line[at]).length)));
  const lines = cells.map(
    (line) => `| ${line.map((cell, at) => String(cell).padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

export function throughputTable(rows: readonly Row[]): string {
  const shown = rows.map((row) => ({
    contender: row.contender,
    'requests/s': row.requestsPerSecond,
    'CPU µs/request': row.cpuPerRequest,
    'p50 ms': row.p50,
    'p99 ms': row.p99,
    'MB first→last': `${show(row.residentMB[0])}→${show(row.residentMB[1])}`,
    'ratio min/median/max': spread(row.ratio),
    'CPU ratio': spread(row.cpuRatio),
  }));
  return table(shown, Object.keys(shown[0] ?? {}) as []);
}

/** What the targets say of the rows, one line each. */
export function verdicts({ targets }: Scenario, rows: readonly Row[]): string[] {
  return targets.flatMap(({ against, atLeast }) => {
    const row = rows.find(({ contender }) => contender === against);
    if (row === undefined) return [];
    const reached = worse(row) >= atLeast ? 'reached' : 'NOT reached';
    const medians = `${show(row.ratio.median)} (by CPU ${show(row.cpuRatio.median)})`;
    return [`${reached}: ${medians} of ${against}, at least ${atLeast} wanted of both`];
  });
}

/** Both ratios must do: that of requests per second hides what a contender costs where the load's core is the limit. */
export function worse({ ratio, cpuRatio }: Row): number {
  return Math.min(ratio.median, cpuRatio.median);
}

function spread({ min, median, max }: Spread): string {
  return [min, median, max].map((value) => value.toFixed(2)).join(' / ');
}

function show(value: unknown): Cell {
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? Math.round(value).toString() : value.toFixed(2);
}
