/**
 * The components of `stonegate check`: connections to the API server with Stonegate's own credentials. It
 * asks what Stonegate may impersonate, list and watch, and which role bindings give tenants more than the
 * operator may know; in arktos mode also whether policies of tenants count.
 */

import { check } from '../../cli/check.ts';
import type { CommandIO } from '../../cli/command.ts';
import { commandRuntime } from '../../config/build.ts';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import { Generations } from '../../config/generation.ts';
import { type LoadedConfiguration, systemSources } from '../../config/load.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import {
  systemBindingWarnings,
  UNJUDGED_NAMESPACES,
  unjudgedTenantWarnings,
} from '../../features/bindings/system-bindings.ts';
import { enabledPolicies, resourcesOfPolicies } from '../../features/cross-tenant/enabled-policies.ts';
import { missingDefinitions } from '../../features/cross-tenant/policy-definitions.ts';
import { hasPolicyWebhook } from '../../features/cross-tenant/policy-webhook.ts';
import { TENANCY_GROUP } from '../../features/cross-tenant/tenancy-v1alpha1.ts';
import { createTenancyMode } from '../../features/tenancy-mode.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { INDEXED_RESOURCES } from '../../kubernetes/rbac-v1.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import {
  type AskedUpstreamRights,
  mayImpersonateUsers,
  mayReadTenants,
  missingListWatchRights,
} from '../../kubernetes/upstream-rights.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { createOwnRights, createOwnUpstream, createProvisioningUpstream } from '../upstream.ts';

/** @param argv what follows `check` */
export function checkCommand(argv: readonly string[], io: CommandIO): Promise<number> {
  return check(argv, io, systemSources, systemClock, askUpstream);
}

async function askUpstream(loaded: LoadedConfiguration): Promise<string[]> {
  return [...(await ownCredentialWarnings(loaded)), ...(await systemBindings(loaded))];
}

/** @returns a warning for each thing that is missing, or one that the API server cannot be asked */
async function ownCredentialWarnings(loaded: LoadedConfiguration): Promise<string[]> {
  const runtime = commandRuntime();
  const generations = new Generations<OwnUpstream>(runtime.logger);
  try {
    generations.replace((generation) => {
      const build = { loaded, runtime, generation };
      return { rights: createOwnRights(build), fetcher: createOwnUpstream(build) };
    });
    const { signal } = new AbortController();
    return await warningsFrom(loaded.configuration, generations.current, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`upstream.server: the API server could not be asked for Stonegate's rights: ${reasonOf(error)}`];
  } finally {
    await generations.close();
  }
}

interface OwnUpstream {
  readonly rights: AskedUpstreamRights;
  readonly fetcher: Upstream;
}

async function warningsFrom(
  configuration: StonegateConfiguration,
  { rights, fetcher }: OwnUpstream,
  signal: AbortSignal,
): Promise<string[]> {
  const isShared = configuration.tenancy.mode === 'shared';
  if (!(await mayImpersonateUsers(fetcher, isShared, signal)))
    return [
      'upstream.credential: may not impersonate users and groups, so the API server refuses every request: apply the output of `stonegate manifests rbac --config FILE`',
    ];
  await rights.ask();
  const extras = [...rights.withheld].map(
    (key) =>
      `upstream.credential: may not impersonate the extra key ${key}, so it is omitted: ${APPLY_RIGHTS}`,
  );
  return [
    ...extras,
    ...(configuration.access.index ? await indexWarnings(fetcher, isShared, signal) : []),
    ...(await policyWarnings(configuration, fetcher, signal)),
    ...(isShared ? await unjudgedWarnings(configuration, fetcher, signal) : []),
  ];
}

/** Only with the right to list role bindings, which the credential has for the RBAC index. */
async function unjudgedWarnings(
  { admission }: Pick<StonegateConfiguration, 'admission'>,
  fetcher: UpstreamFetcher,
  signal: AbortSignal,
): Promise<string[]> {
  const missing = await missingListWatchRights(fetcher, [ROLE_BINDINGS], signal);
  if (missing.length === 0)
    return whenAsked('its role bindings', () => unjudgedTenantWarnings(createObjects(fetcher), signal));
  if (admission === undefined) return [];
  return [
    `upstream.credential: may not ${missing.join(', ')}, so this does not tell whether a tenant's group is bound in ${UNJUDGED_NAMESPACES.join(' or ')}, where the admission webhook judges nothing`,
  ];
}

const ROLE_BINDINGS = { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' };

const APPLY_RIGHTS = 'apply the output of `stonegate manifests rbac --config FILE`';

async function indexWarnings(
  fetcher: UpstreamFetcher,
  isShared: boolean,
  signal: AbortSignal,
): Promise<string[]> {
  const indexed = INDEXED_RESOURCES.map((resource) => ({
    group: resource === 'namespaces' ? '' : 'rbac.authorization.k8s.io',
    resource,
  }));
  const missing = await missingListWatchRights(fetcher, indexed, signal);
  const lacksTenants = !isShared && !(await mayReadTenants(fetcher, signal));
  return [
    ...(missing.length === 0
      ? []
      : [
          `upstream.credential: may not ${missing.join(', ')}, so the RBAC index (access.index) is never complete: ${APPLY_RIGHTS}`,
        ]),
    ...(lacksTenants
      ? [
          `upstream.credential: may not get tenants, so \`kubectl get tenants\` fails for users of tenants: ${APPLY_RIGHTS}`,
        ]
      : []),
  ];
}

async function policyWarnings(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
  signal: AbortSignal,
): Promise<string[]> {
  const enabled = enabledPolicies(configuration);
  const resources = resourcesOfPolicies(enabled);
  const missing = await missingListWatchRights(fetcher, resources, signal);
  if (missing.length > 0)
    return [
      `upstream.credential: may not ${missing.join(', ')}, so policies grant nothing, or get no roles: ${APPLY_RIGHTS}`,
    ];
  const ownKinds = resources.filter(({ group }) => group === TENANCY_GROUP).map(({ resource }) => resource);
  return [
    ...(await whenAsked('its custom resources', () => definitionWarnings(fetcher, ownKinds, signal))),
    ...(enabled.crossTenantPolicies
      ? await whenAsked('its webhooks', () => webhookWarnings(fetcher, signal))
      : []),
  ];
}

/** @returns one warning if the API server does not tell: the others are to be shown all the same */
async function whenAsked(what: string, ask: () => Promise<string[]>): Promise<string[]> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`upstream.server: the API server could not be asked for ${what}: ${reasonOf(error)}`];
  }
}

async function definitionWarnings(
  fetcher: UpstreamFetcher,
  resources: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const missing = await missingDefinitions(fetcher, resources, signal);
  return missing.map(
    (resource) =>
      `authorization: the API server has no ${resource}, so none grants anything: apply the output of \`stonegate manifests crds\``,
  );
}

async function webhookWarnings(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<string[]> {
  if (await hasPolicyWebhook(fetcher, signal)) return [];
  return [
    'authorization.crossTenantPolicies: the API server does not ask the admission webhook about CrossTenantPolicies, so they grant nothing: apply the output of `stonegate manifests admission`',
  ];
}

/** @returns nothing without `bindings.credential`, since no other credential may list role bindings */
async function systemBindings(loaded: LoadedConfiguration): Promise<string[]> {
  const { tenancy } = loaded.configuration;
  if (!createTenancyMode(loaded.configuration).readsTenantFromPath) return [];
  const upstream = createProvisioningUpstream(loaded, commandRuntime());
  if (upstream === undefined) return [];
  try {
    const { signal } = new AbortController();
    return await systemBindingWarnings(createObjects(upstream), tenancy.systemTenant, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`bindings.credential: the API server could not be asked for role bindings: ${reasonOf(error)}`];
  } finally {
    await upstream.destroy();
  }
}
