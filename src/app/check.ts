/**
 * What `stonegate check` needs of the composition root: connections to the API server with Stonegate's own credentials,
 * to ask what it may impersonate, and (arktos) which role bindings of the system tenant count in every tenant.
 */

import { systemBindingWarnings } from '../bindings/system-bindings.ts';
import { check } from '../cli/check.ts';
import type { CommandIO } from '../cli/command.ts';
import { createClusterObjects } from '../clients/cluster-objects.ts';
import { mayImpersonateUsers } from '../clients/upstream-rights.ts';
import { type LoadedConfiguration, systemSources } from '../config/load.ts';
import { reasonOf, StatusError } from '../errors/status-error.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { noTelemetry } from '../lib/telemetry.ts';
import { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';
import { provisioningUpstream } from './provisioning-parts.ts';
import { tenancyModeOf } from './tenancy-mode-of.ts';

const around: Surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  telemetry: noTelemetry,
};

/** @param argv what follows `check` */
export function checkCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return check(argv, io, systemSources, systemClock, askUpstream);
}

async function askUpstream(loaded: LoadedConfiguration): Promise<string[]> {
  return [...(await missingRights(loaded)), ...(await systemBindings(loaded))];
}

/** @returns a warning for each thing that the API server does not grant, or one that it cannot be asked */
async function missingRights(loaded: LoadedConfiguration): Promise<string[]> {
  const adapters = new Adapters(around);
  try {
    const rights = adapters.upstreamRights(loaded);
    const mayBeConstrained = loaded.configuration.tenancy.mode === 'shared';
    const { signal } = new AbortController();
    if (!(await mayImpersonateUsers({ fetcher: adapters.upstream(loaded), mayBeConstrained }, signal)))
      return [
        'upstream.credential: may not impersonate users and groups, so the API server refuses every request: apply the output of `stonegate manifests rbac`',
      ];
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

/** @returns nothing without `bindings.credential`, since no other credential may list role bindings */
async function systemBindings(loaded: LoadedConfiguration): Promise<string[]> {
  const { tenancy, authentication } = loaded.configuration;
  if (!tenancyModeOf(tenancy, authentication).readsTenantFromPath) return [];
  const upstream = provisioningUpstream(loaded, around);
  if (upstream === undefined) return [];
  try {
    const { signal } = new AbortController();
    return await systemBindingWarnings(createClusterObjects(upstream), tenancy.systemTenant, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`bindings.credential: the API server could not be asked for role bindings: ${reasonOf(error)}`];
  } finally {
    await upstream.destroy();
  }
}
