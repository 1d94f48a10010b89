/**
 * How commands print what they found: as a table for people, as JSON or YAML for programs.
 */
import { UsageError } from './usage.ts';

export type OutputFormat = 'table' | 'json' | 'yaml';

/** @throws UsageError */
export function outputFormat(given: string | undefined): OutputFormat {
  if (given === undefined || given === 'table') return 'table';
  if (given === 'json' || given === 'yaml') return given;
  throw new UsageError(`-o is table, json or yaml, not ${JSON.stringify(given)}`);
}

/** @param table made only where it is asked for */
export async function print(
  value: object,
  format: OutputFormat,
  table: () => string,
  stdout: (text: string) => void,
): Promise<void> {
  if (format === 'table') stdout(table());
  else if (format === 'json') stdout(`${JSON.stringify(value, undefined, 2)}\n`);
  else stdout((await import('yaml')).stringify(value, { lineWidth: 0 }));
}

/**
 * Rows as columns that line up; the last is as long as it is. What a stranger wrote cannot steer the terminal.
 */
export function columns(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of shown) {
    for (const [at, cell] of row.slice(0, -1).entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return shown
    .map((row) =>
      row.map((cell, at) => (at < row.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell)).join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
