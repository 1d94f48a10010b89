/**
 * The problems of a configuration as commands print them, one a line.
 */
import { formatProblem, type Problem } from '../config/problem.ts';
import { ConfigurationError } from './command.ts';

export function configurationError(file: string, problems: readonly Problem[]): ConfigurationError {
  const count = `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`;
  return new ConfigurationError([...problems.map(formatProblem), `${file}: ${count}`].join('\n'), problems);
}
