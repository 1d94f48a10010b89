/**
 * `stonegate check`: reports the problems of a configuration without serving it. It also asks the API server
 * and the providers that the configuration names.
 */

import {
  type CommandIO,
  ConfigurationError,
  columns,
  createCommand,
  EXIT,
  FLAG,
  OUTPUT_OPTION,
  print,
  VALUE,
} from '../../cli/command.ts';
import { certificatesOutOfPeriod } from '../../config/certificate-periods.ts';
import { type LoadSources, systemSources } from '../../config/load.ts';
import { formatProblem, type Problem } from '../../config/problem.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import {
  configurationWarnings,
  type LoadedStonegate,
  loadedStonegate,
  type StonegateBuild,
} from '../configuration.ts';
import { checkProviders } from './check-providers.ts';
import type { CheckResult } from './check-result.ts';
import { checkUpstream } from './check-upstream.ts';
import { withComponents } from './with-components.ts';

const USAGE = `Usage: stonegate check --config FILE [--offline] [--strict] [-o FORMAT]

Reads the configuration and every file it names, and prints each problem with
its path. Then it asks, all at once and each for at most 15 s: the API server
what Stonegate's credentials may do there; Keystone whether the service
credential is accepted and has the roles that it needs; each issuer for its
discovery document and keys; and Redis.

An error makes every request fail: the API server does not accept Stonegate's
credential or does not let it impersonate, the tenancy mode is for another kind
of API server, or no credential of any user can be accepted. What makes some
fail, or what serve would start with all the same, is a warning. So is what
cannot be reached from here. Each says what to do.

  --config FILE        the configuration
  --offline            only read the files, ask no server
  --strict             warnings are errors
  -o, --output FORMAT  table, json or yaml; json and yaml print one object
                       with errors and warnings, each with path and message
  --help               this text

Exit codes: 0 the configuration is good, with warnings or without, 1 it is not,
2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  offline: FLAG,
  strict: FLAG,
  output: OUTPUT_OPTION,
} as const;

/** The clock is for the validity of certificates. */
export const check = createCommand(
  { usage: USAGE, options: OPTIONS },
  async ({ values, io }, sources: LoadSources = systemSources, clock: Clock = systemClock) => {
    const { config, offline = false, strict = false, output = 'table' } = values;
    let loaded: LoadedStonegate;
    try {
      loaded = await loadedStonegate(config, sources);
    } catch (error) {
      if (output === 'table' || !(error instanceof ConfigurationError)) throw error;
      await print({ errors: error.problems, warnings: [] }, output, () => '', io.stdout);
      return EXIT.failed;
    }
    const found: CheckResult[] = [
      ...certificatesOutOfPeriod(loaded, clock.now()),
      ...configurationWarnings(loaded.configuration),
      ...(offline ? [] : await withComponents(loaded, askBackends)),
    ];
    const problems = found.map(({ isError, ...problem }) => ({
      isError: strict || isError === true,
      problem,
    }));
    const errors = problems.filter(({ isError }) => isError).map(({ problem }) => problem);
    const warnings = problems.filter(({ isError }) => !isError).map(({ problem }) => problem);
    if (output === 'table') printLines(config ?? '', errors, warnings, io);
    else await print({ errors, warnings }, output, () => '', io.stdout);
    return errors.length > 0 ? EXIT.failed : EXIT.fine;
  },
);

function printLines(
  config: string,
  errors: readonly Problem[],
  warnings: readonly Problem[],
  { stdout, stderr }: CommandIO,
): void {
  for (const error of errors) stderr(columns([[`error: ${formatProblem(error)}`]]));
  for (const warning of warnings) stderr(columns([[`warning: ${formatProblem(warning)}`]]));
  const but = warnings.length === 0 ? '' : `, with ${counted(warnings.length, 'warning')}`;
  if (errors.length === 0) stdout(`${config} is good${but}\n`);
  else stderr(`${config}: ${counted(errors.length, 'error')}${but}\n`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

async function askBackends(build: StonegateBuild): Promise<CheckResult[]> {
  return (await Promise.all([checkUpstream(build), checkProviders(build)])).flat();
}
