#!/usr/bin/env node
/**
 * The `stonegate` command with everything in it. `cli/user-commands.ts` has the part that is bundled for
 * users.
 */
import { OPERATOR_COMMANDS } from './app/operator-commands.ts';
import type { ListedCommand } from './cli/command.ts';
import { runProgram } from './cli/program.ts';
import { USER_COMMANDS } from './cli/user-commands.ts';
import { version } from './cli/version.ts';

const explain: ListedCommand = {
  ...USER_COMMANDS.explain,
  load: async () => {
    const { explain } = await import('./cli/explain.ts');
    return (argv, io) =>
      explain(argv, io, async (...given) =>
        (await import('./app/commands/explain.ts')).explainWith(...given),
      );
  },
};

process.exitCode = await runProgram(
  { commands: { ...USER_COMMANDS, explain }, operatorCommands: OPERATOR_COMMANDS, version },
  process.argv.slice(2),
  {
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    // Zero for a terminal without a size.
    width: process.stdout.columns || undefined,
  },
);
