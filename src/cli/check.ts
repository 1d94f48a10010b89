/**
 * `stonegate check`: reports the problems of a configuration without starting anything. It also asks the API
 * server for the rights of Stonegate's credential; if the API server cannot be reached, that is only a
 * warning.
 */
import { certificatesOfOtherTenants, certificatesOutOfPeriod } from '../config/certificate-periods.ts';
import { type LoadedConfiguration, type LoadSources, systemSources } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { accessWarnings } from '../config/validate.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { type CommandIO, columns, refuseWords, runCommand } from './command.ts';
import { readConfiguration } from './configuration-file.ts';

const USAGE = `Usage: stonegate check --config FILE [--offline]

Reads the configuration and every file it names, and prints each problem with its path. What serve would start with all
the same, such as a certificate that has expired, or an index by which no list is filtered, is printed as a warning. So is what the API server does not let
Stonegate impersonate, list and watch; and in arktos mode, if policies lack their definitions or their webhook, and
(with bindings.credential) each role binding of the system tenant that counts in every tenant; in shared mode (with
access.index) each of a tenant's group in kube-system and stonegate, where the admission webhook judges nothing.

  --config FILE   the configuration
  --offline       do not ask the API server
  --help          this text

Exit codes: 0 the configuration is good, with warnings or without, 1 it is not, 2 wrong usage.
`;

/**
 * @param argv what follows `check`
 * @param clock for the validity of certificates
 * @param askUpstream returns a warning for each right that Stonegate lacks at the API server
 */
export function check(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources = systemSources,
  clock: Clock = systemClock,
  askUpstream: (loaded: LoadedConfiguration) => Promise<readonly string[]> = async () => [],
): Promise<number> {
  const options = { config: { type: 'string' }, offline: { type: 'boolean' } } as const;
  return runCommand({ usage: USAGE, options, argv, io }, async ({ config, offline }, positionals) => {
    refuseWords(positionals);
    const loaded = await readConfiguration(config, sources);
    const certificates = [
      ...certificatesOutOfPeriod(loaded, clock.now()),
      ...certificatesOfOtherTenants(loaded),
    ];
    const warnings = [
      ...certificates.map(formatProblem),
      ...accessWarnings(loaded.configuration),
      ...(offline === true ? [] : await askUpstream(loaded)),
    ];
    for (const warning of warnings) io.stderr(columns([[`warning: ${warning}`]]));
    const { length } = warnings;
    const but = length === 0 ? '' : `, with ${length} ${length === 1 ? 'warning' : 'warnings'}`;
    io.stdout(`${config} is good${but}\n`);
  });
}
