/**
 * Reads the configuration that `--config` names, for commands: its problems are printed, one a line.
 */
import { type LoadedConfiguration, type LoadSources, loadConfiguration } from '../config/load.ts';
import { formatProblem, type Problem } from '../config/problem.ts';
import { ConfigurationError, UsageError } from './command.ts';

/**
 * @param file the value of `--config`
 * @throws UsageError without a file; ConfigurationError
 */
export async function readConfiguration(
  file: string | undefined,
  sources?: LoadSources,
): Promise<LoadedConfiguration> {
  if (file === undefined) throw new UsageError('--config FILE is required');
  const result = await loadConfiguration(file, sources);
  if (result.ok) return result.loaded;
  throw configurationError(file, result.problems);
}

export function configurationError(file: string, problems: readonly Problem[]): ConfigurationError {
  const count = `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`;
  return new ConfigurationError([...problems.map(formatProblem), `${file}: ${count}`].join('\n'), problems);
}
