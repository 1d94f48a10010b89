/**
 * What `stonegate sync` needs of the composition root: provisioning as the configuration describes it, for one run.
 * Keystone and the API server are asked directly; nothing of a running Stonegate is needed.
 */

import { heldBack, lossesOf } from '../bindings/deletion-guard.ts';
import { USERS_WARNING } from '../bindings/grants.ts';
import { systemBindingWarnings } from '../bindings/system-bindings.ts';
import type { CommandIO } from '../cli/command.ts';
import { type SyncParts, sync } from '../cli/sync.ts';
import { createClusterObjects } from '../clients/cluster-objects.ts';
import { createKeystoneClient } from '../clients/keystone.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { noTelemetry } from '../lib/telemetry.ts';
import { type Surroundings, serviceSecret } from './made-of.ts';
import { createProvisioning, provisioningUpstream } from './provisioning-parts.ts';
import { tenancyModeOf } from './tenancy-mode-of.ts';

const around: Surroundings = {
  clock: systemClock,
  random: systemRandom,
  // What goes wrong is in the errors, and those are printed.
  logger: silentLogger,
  telemetry: noTelemetry,
};

/** @param argv what follows `sync` */
export function syncCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return sync(argv, io, { withProvisioning });
}

const withProvisioning: SyncParts['withProvisioning'] = async (loaded, run) => {
  const { tenancy, authentication, bindings } = loaded.configuration;
  const client = keystoneOf(loaded);
  const upstream = provisioningUpstream(loaded, around);
  try {
    if (client?.directory === undefined)
      throw new Error('authentication.keystone.serviceCredential is required: nobody else may list projects');
    if (upstream === undefined)
      throw new Error('bindings.credential is required: what impersonates must not also give rights');
    const mode = tenancyModeOf(tenancy, authentication);
    const provisioning = createProvisioning(loaded, {
      directory: client.directory,
      fetcher: upstream,
      mode,
    });
    const objects = createClusterObjects(upstream);
    return await run({
      clusterWarnings: async (signal) =>
        mode.readsTenantFromPath ? systemBindingWarnings(objects, tenancy.systemTenant, signal) : [],
      warnings: bindings.subjects === 'users' ? [USERS_WARNING] : [],
      heldBack: (plan) => lossesOf(heldBack(plan, bindings.maxDeletedShare), plan),
      ...provisioning,
    });
  } finally {
    await Promise.all([client?.close(), upstream?.destroy()]);
  }
};

function keystoneOf(loaded: LoadedConfiguration) {
  const { keystone } = loaded.configuration.authentication;
  const credential = keystone?.serviceCredential;
  if (keystone === undefined || credential === undefined) return undefined;
  const secret = serviceSecret(loaded, credential);
  return createKeystoneClient({
    ...around,
    url: keystone.url,
    ...(keystone.caFile !== undefined && { ca: loaded.file(keystone.caFile).toString() }),
    credential,
    readSecret: () => secret,
    timeout: keystone.timeout,
  });
}
