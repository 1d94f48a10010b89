/**
 * `stonegate sync`: one provisioning run from Keystone to the cluster, or its plan. It sends its own requests
 * to Keystone and the API server; no serving process is needed.
 */

import { columns, createCommand, FLAG, VALUE } from '../../cli/command.ts';
import { createProvisioning } from '../../features/bindings/build.ts';
import { USERS_WARNING } from '../../features/bindings/grants.ts';
import { systemBindingWarnings } from '../../features/bindings/system-bindings.ts';
import { readQuota } from '../../features/keystone-limits/build.ts';
import { tenancySettings } from '../../features/tenancy-settings.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createTenancyMode } from '../../tenancy/create-tenancy-mode.ts';
import { operatorTenant } from '../../tenancy/places.ts';
import { loadedStonegate } from '../configuration.ts';
import { createKeystone } from '../keystone.ts';
import { createUpstreams } from '../upstream.ts';
import { runReconciler } from './run-reconciler.ts';
import { withComponents } from './with-components.ts';

const USAGE = `Usage: stonegate sync --config FILE [--dry-run] [--force]

Creates what is missing in the cluster for Keystone's projects, domains and
roles, puts right what has drifted, and removes bindings that nothing asks for
any more. Namespaces, tenants and roles are never deleted; what Stonegate did
not create is never touched.

  --config FILE   the configuration: its bindings, with bindings.credential
  --dry-run       only print what would be done, as a table
  --force         remove bindings even where they are more than
                  bindings.maxDeletedShare of those there are
  --help          this text

Exit codes: 0 done, or printed, whatever there is to do; 1 something failed or
was refused, or removals wait for --force; 2 wrong usage.
`;

const OPTIONS = {
  config: VALUE,
  'dry-run': FLAG,
  force: FLAG,
} as const;

const REFUSED_REMEDY =
  'Correct what is refused, or leave it out in the configuration: `ignore: true` in bindings.domains.ID or bindings.projects.ID, or the user in bindings.ignore.users';

export const sync = createCommand({ usage: USAGE, options: OPTIONS }, async ({ values, io }) => {
  const loaded = await loadedStonegate(values.config);
  const { tenancy, bindings, quota } = loaded.configuration;
  return withComponents(loaded, async (build) => {
    const keystone = createKeystone(build);
    const { provisioningUpstream: fetcher } = createUpstreams(build);
    const directory = keystone?.client.directory;
    if (keystone === undefined || directory === undefined)
      throw new Error(
        'authentication.keystone.serviceCredential is required: no other credential may list projects. Use one whose user has the role reader on the system',
      );
    if (fetcher === undefined)
      throw new Error(
        'bindings.credential is required: a credential that impersonates must not also grant rights. `stonegate manifests rbac --provisioner --config FILE` prints its rights and how to get one',
      );
    const settings = tenancySettings(loaded.configuration);
    const mode = createTenancyMode(settings);
    const limits = quota?.keystoneLimits;
    const { plan, objects } = createProvisioning(
      { bindings, tenancy: settings, hasQuotas: quota !== undefined },
      {
        directory,
        fetcher,
        mode,
        readLimits: limits && (() => readQuota(keystone.client, limits)),
        account: STONEGATE_ACCOUNT,
      },
    );
    const { signal } = new AbortController();
    const systemTenant = operatorTenant(tenancy);
    const warnings = [
      ...(bindings.subjects === 'users' ? [`bindings.subjects ${USERS_WARNING}`] : []),
      ...(systemTenant === undefined ? [] : await systemBindingWarnings(objects, systemTenant, signal)),
    ];
    for (const warning of warnings) io.stderr(columns([[`warning: ${warning}`]]));
    const { 'dry-run': dryRun = false, force = false } = values;
    const { maxDeletedShare } = bindings;
    return runReconciler(
      { plan, objects, maxDeletedShare, force, dryRun, refusedRemedy: REFUSED_REMEDY },
      io,
    );
  });
});
