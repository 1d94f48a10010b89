/** Tables for readers. */
import type { Contender } from './contenders/contender.ts';
import type { GrowthRow } from './growth.ts';
import type { Row } from './rows.ts';
import type { Spread } from './statistics.ts';

/** Rows of the same members as a table of Markdown. */
function table<R extends object>(rows: readonly R[], columns: readonly (keyof R & string)[]): string {
  const cells = [columns, ...rows.map((row) => columns.map((column) => show(row[column])))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => String(line[at]).length)));
  const lines = cells.map(
    (line) => `| ${line.map((cell, at) => String(cell).padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

const THROUGHPUT = [
  'contender',
  'requests/s',
  'CPU µs/request',
  'MB first→last',
  'ratio min/median/max',
  'CPU ratio',
] as const;

const RATIOS =
  "Three numbers are least, median and most of the rounds. A ratio is Stonegate's over that contender's: of requests per second, and of requests per CPU.";

/** @param absent who could not be started, who has a row that says why */
export function throughputTable(rows: readonly Row[], absent: readonly Contender[] = []): string {
  const measured = rows.map((row) => ({
    contender: row.contender,
    'requests/s': row.requestsPerSecond,
    'CPU µs/request': row.cpuPerRequest,
    'MB first→last': row.residentMB.map(show).join('→'),
    'ratio min/median/max': spread(row.ratio),
    'CPU ratio': spread(row.cpuRatio),
  }));
  const nothing = { 'requests/s': '', 'CPU µs/request': '', 'MB first→last': '', 'CPU ratio': '' };
  const others = absent.map(({ name, missing }) => ({
    ...nothing,
    contender: name,
    'ratio min/median/max': missing,
  }));
  return `${table([...measured, ...others], THROUGHPUT)}\n\n${RATIOS}`;
}

export function growthTable(rows: readonly GrowthRow[]): string {
  const shown = rows.map((row) => ({
    what: row.contender,
    'CPU µs/request': row.cpuPerRequest,
    'to the first min/median/max': spread(row.cpuRatio),
    'resident MB': row.residentMB[1],
    'Keystone calls/1000': row.keystoneCallsPer1000,
    'Redis commands/1000': row.redisCommandsPer1000,
  }));
  return table(shown, [
    ...(['what', 'CPU µs/request', 'to the first min/median/max'] as const),
    ...(['resident MB', 'Keystone calls/1000', 'Redis commands/1000'] as const),
  ]);
}

/** @returns the rows, when they are printed */
export function print<R extends object>(
  title: string,
  rows: readonly R[],
  columns: readonly (keyof R & string)[],
): readonly R[] {
  console.log(`\n${title}\n\n${table(rows, columns)}`);
  return rows;
}

function spread({ min, median, max }: Spread): string {
  return [min, median, max].map((value) => value.toFixed(2)).join(' / ');
}

export function show(value: unknown): string {
  if (value === undefined) return '–';
  if (isSpread(value)) return spread(value);
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? Math.round(value).toString() : value.toFixed(2);
}

function isSpread(value: unknown): value is Spread {
  return typeof value === 'object' && value !== null && 'min' in value && 'median' in value && 'max' in value;
}
