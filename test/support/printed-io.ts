/** The output of a command, by stream. */
import type { CommandIO } from '../../src/cli/command.ts';

export function printedIO(): { io: CommandIO; printed: { stdout: string; stderr: string } } {
  const printed = { stdout: '', stderr: '' };
  return {
    printed,
    io: {
      stdout: (text) => {
        printed.stdout += text;
      },
      stderr: (text) => {
        printed.stderr += text;
      },
    },
  };
}

/** Runs a command until it ends. */
export async function printedBy<Rest extends unknown[]>(
  command: (argv: readonly string[], io: CommandIO, ...rest: Rest) => Promise<number>,
  argv: readonly string[],
  ...rest: Rest
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { io, printed } = printedIO();
  const code = await command(argv, io, ...rest);
  return { code, ...printed };
}
