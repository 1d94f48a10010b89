/**
 * `stonegate usage`: adds up the records that the processes have written.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { usageLineSchema } from '../../features/usage/usage-v1alpha1.ts';
import { displayedFileName, reasonOf } from '../../lib/file-errors.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { createCommand, UsageError, VALUE } from '../command.ts';
import { csvOf, gapText, reportOf, tableOf } from './usage-output.ts';
import { GROUPINGS, type Grouping, UsageSums } from './usage-sums.ts';

const USAGE = `Usage: stonegate usage FILE… [--from TIME] [--to TIME]
                       [--by tenant|project|day] [-o table|csv|json]

Adds up usage records: what "stonegate serve" writes to usage.records, or to
standard output among other lines. Files may come in any order and overlap: a
record counts once. "-" reads standard input.

  --from TIME   records whose minute begins at this time or later, such as
                2026-11-01 (UTC) or 2026-11-01T00:00:00+01:00
  --to TIME     and before this time
  --by WHAT     a row for each tenant (the default), for each project of each
                tenant, or for each day (UTC)
  -o, --output FORMAT
                table (the default), in hours and GiB; csv or json, in seconds
                and bytes
  --help        this text

What is missing is named on standard error, and in JSON: records that are in no
file, and processes that were killed, which lose their last minute.
Exit codes: 0 added up, whatever is missing; 1 a file cannot be read; 2 wrong
usage.
`;

const OPTIONS = {
  from: VALUE,
  to: VALUE,
  by: { type: 'string', choices: GROUPINGS },
  output: { type: 'string', short: 'o', choices: ['table', 'csv', 'json'] },
} as const;

const COMMAND = { usage: USAGE, options: OPTIONS, words: [] } as const;

export const usage = createCommand(COMMAND, async ({ values, words: files, note, io }) => {
  if (files.length === 0) throw new UsageError('which files? "-" is standard input');
  const by = GROUPINGS.find((grouping) => grouping === values.by) ?? 'tenant';
  const from = timeOf('--from', values.from) ?? Number.NEGATIVE_INFINITY;
  const to = timeOf('--to', values.to) ?? Number.POSITIVE_INFINITY;
  if (from >= to) throw new UsageError('--from is before --to');
  const sums = new UsageSums({ from, to, by });
  const unreadable = await readFiles(
    files,
    sums,
    process.stderr.isTTY ? (text) => process.stderr.write(text) : () => {},
  );
  io.stdout(outputOf(sums, by, values.output));
  if (sums.isEmpty) note('there are no usage records in what was read');
  if (unreadable > 0) note(`${unreadable} lines are no whole records`);
  for (const gap of sums.gaps()) note(gapText(gap));
});

function outputOf(sums: UsageSums, by: Grouping, format: string | undefined): string {
  if (format === 'json') return reportOf(sums.rows(), sums.gaps(), by);
  return format === 'csv' ? csvOf(sums.rows(), by) : tableOf(sums.rows(), by);
}

function timeOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const time = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00:00Z` : given);
  if (time === undefined)
    throw new UsageError(`${option} is a day or a time such as 2026-11-01T00:00:00Z; not ${given}`);
  return time;
}

/** Both kinds of usage lines contain it; a line without it belongs to a log. */
const MARK = '"kind":"Usage';
/** Lines between two reports of progress. */
const STEP = 100_000;

/** @returns the number of records that cannot be read */
async function readFiles(
  files: readonly string[],
  sums: UsageSums,
  progress: (text: string) => void,
): Promise<number> {
  let unreadable = 0;
  let lines = 0;
  for (const file of files) {
    const name = displayedFileName(file);
    try {
      for await (const text of linesOf(file)) {
        lines += 1;
        if (lines % STEP === 0) progress(`\r${lines} lines read, in ${name}\x1b[K`);
        if (!text.includes(MARK)) continue;
        const line = parseJSON(text, usageLineSchema);
        if (line === undefined) unreadable += 1;
        else sums.add(line);
      }
    } catch (error) {
      throw new Error(`${reasonOf(error)}: ${name}`);
    }
  }
  if (lines >= STEP) progress('\r\x1b[K');
  return unreadable;
}

function linesOf(file: string): AsyncIterable<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  return createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
