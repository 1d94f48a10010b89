/**
 * `stonegate check`: says everything that is wrong with a configuration, without starting anything.
 */
import { type LoadSources, loadConfiguration, systemSources } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { type CommandIO, EXIT, runCommand, UsageError } from './usage.ts';

const USAGE = `Usage: stonegate check --config FILE

Reads the configuration and every file it names, and prints each problem with its path.

  --config FILE   the configuration
  --help          this text

Exit codes: 0 the configuration is good, 1 it is not, 2 wrong usage.
`;

/** @param argv what follows `check` */
export function check(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources = systemSources,
): Promise<number> {
  const options = { config: { type: 'string' } } as const;
  return runCommand({ usage: USAGE, options, argv, io }, async ({ config }, positionals) => {
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${positionals[0]}`);
    if (config === undefined) throw new UsageError('--config FILE is required');
    const result = await loadConfiguration(config, sources);
    if (result.ok) {
      io.stdout(`${config} is good\n`);
      return EXIT.fine;
    }
    for (const problem of result.problems) io.stderr(`${formatProblem(problem)}\n`);
    const count = result.problems.length;
    io.stderr(`${config}: ${count} ${count === 1 ? 'problem' : 'problems'}\n`);
    return EXIT.failed;
  });
}
