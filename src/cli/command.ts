/**
 * Shared by all commands: parsing of arguments, exit codes (0 success, 1 failure,
 * 2 wrong usage) with their messages, and output as table, JSON or YAML.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Scalar } from 'yaml';
import type { Problem } from '../config/problem.ts';
import { linesWithoutControls, withEscapedControls, withoutControls } from '../lib/untrusted-text.ts';

export interface CommandIO {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** The width of the terminal that shows standard output; absent if it is none, which scripts read. */
  readonly width?: number | undefined;
  /** Takes what a command accepts; the command is then not run. */
  readonly describe?: (accepted: AcceptedWords) => void;
}

/** Shells complete these. */
export type AcceptedWords = Pick<CommandOptions<Options>, 'options' | 'words'>;

/** @param argv what follows the name. @returns the exit code */
type Command = (argv: readonly string[], io: CommandIO) => Promise<number>;

export interface ListedCommand {
  readonly does: string;
  readonly load: () => Promise<Command>;
}

export type Commands = Readonly<Record<string, ListedCommand>>;

export const EXIT = { fine: 0, failed: 1, usage: 2 } as const;

/** Each remark is a line below the message. */
export class ErrorWithRemarks extends Error {
  readonly remarks: readonly string[];

  constructor(message: string, remarks: readonly string[] = []) {
    super(message);
    this.remarks = remarks;
  }
}

/** A wrong command line. The message states the mistake. */
export class UsageError extends ErrorWithRemarks {}

/** The message consists of lines that name their place: they are printed without the command's name. */
export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message);
    this.problems = problems;
  }
}

type Option = NonNullable<ParseArgsConfig['options']>[string];

/** `choices` are the values of an option, which shells complete; if empty, the command itself refuses it. */
export type Options = Readonly<Record<string, Option & { readonly choices?: readonly string[] }>>;

type Parsed<Declared extends Options> = ReturnType<typeof parseArgs<{ options: Declared }>>['values'];

/** The parsed values of a command's options. */
export type OptionValues<Declared extends Options> = {
  readonly [Name in keyof Parsed<Declared>]?: Parsed<Declared>[Name] | undefined;
};

/** Prints a line after the command's name, with the remarks of the error that caused it. */
export type Note = (line: string, error?: Error) => void;

export interface CommandOptions<Declared extends Options> {
  /** Begins with the command's name. */
  readonly usage: string;
  readonly options: Declared;
  /** The first words that the command knows, of those that it accepts; absent: it accepts none. */
  readonly words?: readonly string[];
}

/** The arguments of one call, parsed, and where its output goes. */
export interface Call<Declared extends Options> {
  readonly values: OptionValues<Declared>;
  /** The arguments that are not options. */
  readonly words: readonly string[];
  readonly argv: readonly string[];
  readonly io: CommandIO;
  readonly note: Note;
}

/**
 * A command that parses its arguments. `--help` prints `usage`. A wrong command line prints the command's
 * name with the mistake, and where the usage is, with exit code 2. Another error prints the name and its
 * message, with exit code 1. Whatever it prints cannot control the terminal.
 *
 * @param run may return an exit code; `parts` are what a caller gives besides the arguments
 */
export function createCommand<const Declared extends Options, Parts extends unknown[]>(
  accepted: CommandOptions<Declared>,
  run: (call: Call<Declared>, ...parts: Parts) => Promise<number | undefined>,
): (argv: readonly string[], io: CommandIO, ...parts: Parts) => Promise<number> {
  const { usage, options } = accepted;
  return async (argv, given, ...parts) => {
    if (given.describe !== undefined) {
      given.describe(accepted);
      return EXIT.fine;
    }
    const io: CommandIO = {
      ...given,
      stdout: (text) => given.stdout(linesWithoutControls(text)),
      stderr: (text) => given.stderr(linesWithoutControls(text)),
    };
    const note: Note = (line, error) => {
      const remarks = error instanceof ErrorWithRemarks ? error.remarks : [];
      io.stderr(columns([`${nameIn(usage)}: ${line}`, ...remarks].map((each) => [each])));
    };
    if (argv.includes('--help') || argv.includes('-h')) {
      io.stdout(usage);
      return EXIT.fine;
    }
    try {
      const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
      if (accepted.words === undefined) refuseWords(positionals);
      refuseOtherChoices(options, values);
      return (await run({ values, words: positionals, argv, io, note }, ...parts)) ?? EXIT.fine;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error instanceof ConfigurationError) io.stderr(`${error.message}\n`);
      else if (!isUsageError(error)) note((await import('../errors/status-error.ts')).reasonOf(error), error);
      if (!isUsageError(error)) return EXIT.failed;
      note(`${mistakeIn(error)}${await suggestion(error, Object.keys(options))}`, error);
      io.stderr(`See: ${nameIn(usage)} --help\n`);
      return EXIT.usage;
    }
  };
}

/** The name of the command, with which every usage text begins: `stonegate who-can`. */
function nameIn(usage: string): string {
  return /^Usage: (stonegate(?: [a-z-]+)?)/.exec(usage)?.[1] ?? 'stonegate';
}

/** @throws UsageError if words are left that the command does not take */
export function refuseWords([word]: readonly string[]): void {
  if (word !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(word)}`);
}

function refuseOtherChoices(options: Options, values: Readonly<Record<string, unknown>>): void {
  for (const [name, { choices = [] }] of Object.entries(options)) {
    const value = values[name];
    if (choices.length > 0 && value !== undefined && !choices.some((choice) => choice === value))
      throw new UsageError(`--${name} is ${choices.join(', ')}; not ${JSON.stringify(value)}`);
  }
}

function isUsageError(error: Error): boolean {
  if (error instanceof UsageError) return true;
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}

/** Node advises how to write an operand that begins with a dash, which no command has. */
export function mistakeIn({ message }: Error): string {
  return message.split('. To specify', 1)[0] ?? message;
}

/** Names the option that the user probably meant, if the error is about an unknown one. */
async function suggestion({ message }: Error, options: readonly string[]): Promise<string> {
  const [, option] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  if (option === undefined) return '';
  const { didYouMean } = await import('../lib/did-you-mean.ts');
  return didYouMean(option, options).replace('mean ', 'mean --');
}

/** Options without further properties. */
export const VALUE = { type: 'string' } as const;
export const VALUES = { type: 'string', multiple: true } as const;
export const FLAG = { type: 'boolean' } as const;

/** The option of commands that print a table, or the object that it is made of. */
export const OUTPUT_OPTION = { type: 'string', short: 'o', choices: ['table', 'json', 'yaml'] } as const;

/**
 * @param format the value of `OUTPUT_OPTION`
 * @param table called only for a table
 */
export async function print(
  value: object,
  format: string | undefined,
  table: () => string,
  stdout: (text: string) => void,
): Promise<void> {
  if (format === 'json') stdout(jsonOf(value));
  else if (format === 'yaml') stdout(await yamlOf(value));
  else stdout(table());
}

/** JSON with every character that controls a terminal escaped. */
export function jsonOf(value: object): string {
  return withEscapedControls(`${JSON.stringify(value, undefined, 2)}\n`, 'json');
}

/** The same value with every character that controls a terminal escaped. */
async function yamlOf(value: object): Promise<string> {
  const { Document, visit } = await import('yaml');
  const document = new Document(value);
  visit(document, { Scalar: (_key, scalar) => quoteControls(scalar) });
  return withEscapedControls(document.toString({ lineWidth: 0 }), 'yaml');
}

/** Only in double quotes YAML has escapes. */
export function quoteControls(scalar: Scalar): void {
  const { value } = scalar;
  if (typeof value === 'string' && linesWithoutControls(value) !== value) scalar.type = 'QUOTE_DOUBLE';
}

/**
 * Rows as aligned columns. A cell is one line, whatever text it holds.
 *
 * @param width into which the rows must fit; cells of the widest columns are then cut in their middle
 */
export function columns(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string {
  const all = rows.map((row) => row.map(withoutControls));
  const most = widthsWithin(all, width);
  const shown = all.map((row) => row.map((cell, at) => cut(cell, most[at] ?? cell.length)));
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

/** A column is never made narrower than this. */
const NARROWEST = 8;

/** The widest columns become narrower until all fit, with two spaces between them. */
function widthsWithin(rows: readonly (readonly string[])[], width: number): readonly number[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  const used = () => widths.reduce((sum, each) => sum + each + 2, -2);
  while (used() > width) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Begin and end tell generated names apart. */
function cut(cell: string, width: number): string {
  if (cell.length <= width) return cell;
  const end = Math.floor((width - 1) / 2);
  return `${cell.slice(0, width - 1 - end)}…${cell.slice(cell.length - end)}`;
}

/** A row for each value of a fact, the first with the fact's name; nothing for empty values. */
export function factRows(facts: readonly (readonly [name: string, values: readonly string[]])[]): string {
  return columns(
    facts.flatMap(([name, values]) =>
      values.filter((value) => value !== '').map((value, at) => [at === 0 ? name : '', value]),
    ),
  );
}
