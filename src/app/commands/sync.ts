/**
 * The components of `stonegate sync`: one run of the provisioning that the configuration describes. It
 * sends its own requests to Keystone and the API server; no serving process is needed.
 */

import type { CommandIO } from '../../cli/command.ts';
import type { WithReconciler } from '../../cli/reconcile.ts';
import { sync } from '../../cli/sync.ts';
import { commandRuntime } from '../../config/build.ts';
import { createProvisioning } from '../../features/bindings/feature.ts';
import { USERS_WARNING } from '../../features/bindings/grants.ts';
import { systemBindingWarnings } from '../../features/bindings/system-bindings.ts';
import { createTenancyMode } from '../../features/tenancy-mode.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import { createConfiguredKeystoneClient } from '../keystone.ts';
import { createProvisioningUpstream } from '../upstream.ts';

/** @param argv what follows `sync` */
export function syncCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return sync(argv, io, withProvisioning);
}

const withProvisioning: WithReconciler = async (loaded, run) => {
  const { tenancy, authentication, bindings } = loaded.configuration;
  const { keystone } = authentication;
  const runtime = commandRuntime();
  const client = keystone?.serviceCredential && createConfiguredKeystoneClient(loaded, keystone, runtime);
  const upstream = createProvisioningUpstream(loaded, runtime);
  try {
    if (client?.directory === undefined)
      throw new Error(
        'authentication.keystone.serviceCredential is required: no other credential may list projects',
      );
    if (upstream === undefined)
      throw new Error('bindings.credential is required: what impersonates must not also give rights');
    const mode = createTenancyMode(loaded.configuration);
    const { maxDeletedShare } = bindings;
    const { plan, objects } = createProvisioning(loaded, {
      directory: client.directory,
      fetcher: upstream,
      mode,
    });
    return await run({
      warnings: async (signal) => [
        ...(bindings.subjects === 'users' ? [USERS_WARNING] : []),
        ...(mode.readsTenantFromPath
          ? await systemBindingWarnings(objects, tenancy.systemTenant, signal)
          : []),
      ],
      maxDeletedShare,
      plan,
      apply: (planned, options) => applyPlan(planned, { ...options, objects, maxDeletedShare }),
    });
  } finally {
    await Promise.all([client?.close(), upstream?.destroy()]);
  }
};
