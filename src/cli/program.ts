/**
 * A program of commands: runs the one that the command line names, and has `help`, `version` and
 * `completion`. A command is imported when it is run, because kubectl runs `stonegate login` on every call.
 */
import { type CommandIO, type Commands, EXIT } from './command.ts';
import { nodeProblem } from './version.ts';

export interface Program {
  readonly commands: Commands;
  /** Commands that only operators need; the help lists them in a group of their own. */
  readonly operatorCommands?: Commands;
  readonly version: () => string | Promise<string>;
  /** Explains a command that only another program has. The text is printed after `stonegate: `. */
  readonly elsewhere?: (name: string) => string | undefined;
}

/** @returns the exit code */
export async function runProgram(program: Program, argv: readonly string[], io: CommandIO): Promise<number> {
  const [name = 'help', ...rest] = argv;
  const commands = withOwn(program);
  if (name === '--version') return run('version', rest);
  if (!['--help', '-h', 'help'].includes(name)) return run(name, rest);
  const [command] = rest;
  if (name === 'help' && command !== undefined) return run(command, ['--help']);
  io.stdout(usageOf(program));
  return 0;

  async function run(called: string, words: readonly string[]): Promise<number> {
    const command = Object.hasOwn(commands, called) ? commands[called] : undefined;
    if (command === undefined) {
      io.stderr(`${await unknown(called, program, commands)}\n`);
      return EXIT.usage;
    }
    const problem = nodeProblem(process.versions.node);
    if (problem === undefined) return (await command.load())(words, io);
    io.stderr(`${problem}\n`);
    return EXIT.failed;
  }
}

/** Adds `completion`, `version` and `help`, which every program has. */
function withOwn(program: Program): Commands {
  const { commands, operatorCommands, version } = program;
  const all: Commands = {
    ...commands,
    ...operatorCommands,
    completion: {
      does: 'print the script by which a shell completes these commands',
      load: async () => {
        const { completion } = await import('./completion.ts');
        return (argv, io) => completion(argv, io, all);
      },
    },
    version: {
      does: 'print the version; also: --version',
      load: async () => async (_argv, io) => {
        io.stdout(`${await version()}\n`);
        return 0;
      },
    },
    help: {
      does: "print this text, or a command's own: stonegate help [COMMAND]",
      load: async () => async (_argv, io) => {
        io.describe?.({ options: {}, words: Object.keys(all) });
        io.stdout(usageOf(program));
        return 0;
      },
    },
  };
  return all;
}

function usageOf(program: Program): string {
  const { operatorCommands = {} } = program;
  const rows = (isOperators: boolean) =>
    Object.entries(withOwn(program))
      .filter(([name]) => Object.hasOwn(operatorCommands, name) === isOperators)
      .map(([name, { does }]) => `  ${name.padEnd(11)}  ${does}\n`)
      .join('');
  const [users, operators] = [rows(false), rows(true)];
  const groups = operators === '' ? users : `For users:\n${users}\nFor operators:\n${operators}`;
  return `Usage: stonegate COMMAND [OPTIONS]\n\n${groups}`;
}

async function unknown(name: string, { elsewhere }: Program, commands: Commands): Promise<string> {
  const reason = elsewhere?.(name);
  if (reason !== undefined) return `stonegate: ${reason}`;
  const { didYouMean } = await import('../lib/did-you-mean.ts');
  const meant = didYouMean(name, Object.keys(commands));
  return `stonegate: unknown command ${JSON.stringify(name)}${meant}\nSee: stonegate --help`;
}
