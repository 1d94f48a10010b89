/**
 * What `stonegate check` needs of the composition root: a connection to the API server with Stonegate's own credential,
 * to ask what it may impersonate.
 */
import { Adapters } from './adapters.ts';
import { check } from './cli/check.ts';
import type { CommandIO } from './cli/usage.ts';
import { type LoadedConfiguration, systemSources } from './config/load.ts';
import { reasonOf, StatusError } from './errors/status-error.ts';
import { systemClock } from './lib/clock.ts';
import { silentLogger } from './lib/logger.ts';
import { systemRandom } from './lib/random.ts';
import { noTelemetry } from './lib/telemetry.ts';

/** @param argv what follows `check` */
export function checkCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return check(argv, io, systemSources, systemClock, missingRights);
}

/** @returns a warning for each thing that the API server does not grant, or one that it cannot be asked */
async function missingRights(loaded: LoadedConfiguration): Promise<string[]> {
  const adapters = new Adapters({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  try {
    const rights = adapters.upstreamRights(loaded);
    await rights.ask();
    return [...rights.withheld].map(
      (key) =>
        `upstream.credential: may not impersonate the extra key ${key}, so it is omitted: apply the output of \`stonegate manifests rbac\``,
    );
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`upstream.server: the API server could not be asked for Stonegate's rights: ${reasonOf(error)}`];
  } finally {
    await adapters.close();
  }
}
