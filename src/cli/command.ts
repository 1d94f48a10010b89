/**
 * What the commands share: where they print, and how they say that they were called wrongly. Exit codes: 0 fine, 1 the
 * thing asked for failed, 2 wrong usage.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';

export interface CommandIO {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

export const EXIT = { fine: 0, failed: 1, usage: 2 } as const;

/** Thrown for a wrong command line; the message says what is wrong. */
export class UsageError extends Error {}

/**
 * Runs a command on its parsed arguments. `--help` prints `usage`; a wrong command line prints what is wrong and
 * `usage`, and is a 2.
 *
 * @param command `hints` says, for an option of another program that people type here, what to write instead
 */
export async function runCommand<const Options extends NonNullable<ParseArgsConfig['options']>>(
  command: {
    readonly usage: string;
    readonly options: Options;
    readonly hints?: ReadonlyMap<string, string>;
    readonly argv: readonly string[];
    readonly io: CommandIO;
  },
  run: (
    values: ReturnType<typeof parseArgs<{ options: Options; allowPositionals: true }>>['values'],
    positionals: readonly string[],
  ) => Promise<number>,
): Promise<number> {
  const { usage, options, hints, argv, io } = command;
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout(usage);
    return EXIT.fine;
  }
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    return await run(values, positionals);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    const unknown = unknownOption(error, argv, options);
    io.stderr(`${unknown === undefined ? error.message : unknownWords(unknown, hints)}\n\n${usage}`);
    return EXIT.usage;
  }
}

function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}

/**
 * What Node says of one is advice for an operand that begins with a dash, which no command here has.
 *
 * @returns the option as it is typed, without its value, which may be a secret
 */
function unknownOption(
  error: Error,
  argv: readonly string[],
  options: NonNullable<ParseArgsConfig['options']>,
): string | undefined {
  if (!('code' in error) || error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return undefined;
  const lenient = { args: [...argv], options, strict: false, allowPositionals: true, tokens: true } as const;
  for (const token of parseArgs(lenient).tokens)
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) return token.rawName;
  return undefined;
}

function unknownWords(option: string, hints: ReadonlyMap<string, string> | undefined): string {
  const hint = hints?.get(option);
  return `unknown option '${option}'${hint === undefined ? '' : `: ${hint}`}`;
}

// FROM src/cli/output.ts
/*!
 * How commands print what they found: as a table for people, as JSON or YAML for programs.
 */

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
