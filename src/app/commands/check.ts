/**
 * The components of `stonegate check`: connections to the API server with Stonegate's own credentials. It
 * asks what Stonegate may impersonate and, in arktos mode, which role bindings of the system tenant hold in
 * every tenant.
 */
import { systemBindingWarnings } from '../../bindings/system-bindings.ts';
import { check } from '../../cli/check.ts';
import type { CommandIO } from '../../cli/command.ts';
import { createClusterObjects } from '../../clients/cluster-objects.ts';
import { mayImpersonateUsers, mayReadTenants, missingIndexRights } from '../../clients/own-access-reviews.ts';
import type { AskedUpstreamRights } from '../../clients/upstream-rights.ts';
import { type LoadedConfiguration, systemSources } from '../../config/load.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { commandRuntime } from '../build.ts';
import { Generations } from '../generation.ts';
import { createProvisioningUpstream } from '../provisioning.ts';
import { createTenancyMode } from '../tenancy-mode.ts';
import { createOwnRights, createOwnUpstream } from '../upstream.ts';

/** @param argv what follows `check` */
export function checkCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return check(argv, io, systemSources, systemClock, askUpstream);
}

async function askUpstream(loaded: LoadedConfiguration): Promise<string[]> {
  return [...(await missingRights(loaded)), ...(await systemBindings(loaded))];
}

/** @returns a warning for each right that is missing, or one that the API server cannot be asked */
async function missingRights(loaded: LoadedConfiguration): Promise<string[]> {
  const runtime = commandRuntime();
  const generations = new Generations<{ rights: AskedUpstreamRights; fetcher: Upstream }>(runtime.logger);
  try {
    generations.replace((generation) => {
      const build = { loaded, runtime, generation };
      return { rights: createOwnRights(build), fetcher: createOwnUpstream(build) };
    });
    const { rights, fetcher } = generations.current;
    const mayBeConstrained = loaded.configuration.tenancy.mode === 'shared';
    const { signal } = new AbortController();
    if (!(await mayImpersonateUsers({ fetcher, mayBeConstrained }, signal)))
      return [
        'upstream.credential: may not impersonate users and groups, so the API server refuses every request: apply the output of `stonegate manifests rbac`',
      ];
    await rights.ask();
    const { index } = loaded.configuration.access;
    const lacking = index ? await missingIndexRights({ fetcher }, signal) : [];
    const lacksTenants = index && !mayBeConstrained && !(await mayReadTenants({ fetcher }, signal));
    return [
      ...[...rights.withheld].map(
        (key) =>
          `upstream.credential: may not impersonate the extra key ${key}, so it is omitted: apply the output of \`stonegate manifests rbac\``,
      ),
      ...(lacking.length === 0
        ? []
        : [
            `upstream.credential: may not ${lacking.join(', ')}, so the RBAC index (access.index) is never complete: apply the output of \`stonegate manifests rbac --config FILE\``,
          ]),
      ...(lacksTenants
        ? [
            'upstream.credential: may not get tenants, so `kubectl get tenants` fails for users of tenants: apply the output of `stonegate manifests rbac --config FILE`',
          ]
        : []),
    ];
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`upstream.server: the API server could not be asked for Stonegate's rights: ${reasonOf(error)}`];
  } finally {
    await generations.close();
  }
}

/** @returns nothing without `bindings.credential`, since no other credential may list role bindings */
async function systemBindings(loaded: LoadedConfiguration): Promise<string[]> {
  const { tenancy } = loaded.configuration;
  if (!createTenancyMode(loaded.configuration).readsTenantFromPath) return [];
  const upstream = createProvisioningUpstream(loaded, commandRuntime());
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
