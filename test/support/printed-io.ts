/** What a command prints, by stream. */
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
