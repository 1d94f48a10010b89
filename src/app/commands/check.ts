/**
 * `stonegate check`: reports the problems of a configuration without starting anything. It also asks the API
 * server for the rights of Stonegate's credentials and for role bindings that give tenants more than the
 * operator may know; if the API server cannot be reached, that is only a warning.
 */

import { type CommandIO, columns, refuseWords, runCommand } from '../../cli/command.ts';
import { readConfiguration } from '../../cli/configuration-file.ts';
import { needsOf } from '../../cli/manifests.ts';
import { impersonatorRights } from '../../cli/rbac-manifests.ts';
import { commandRuntime } from '../../config/build.ts';
import { certificatesOfOtherTenants, certificatesOutOfPeriod } from '../../config/certificate-periods.ts';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import { Generations } from '../../config/generation.ts';
import { type LoadedConfiguration, type LoadSources, systemSources } from '../../config/load.ts';
import { formatProblem } from '../../config/problem.ts';
import { accessWarnings } from '../../config/validate.ts';
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import {
  systemBindingWarnings,
  UNJUDGED_NAMESPACES,
  unjudgedTenantWarnings,
} from '../../features/bindings/system-bindings.ts';
import { enabledPolicies, resourcesOfPolicies } from '../../features/cross-tenant/enabled-policies.ts';
import { hasPolicyWebhook, missingDefinitions } from '../../features/cross-tenant/feature.ts';
import { TENANCY_GROUP } from '../../features/cross-tenant/tenancy-v1alpha1.ts';
import { createTenancyMode } from '../../features/tenancy-mode.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { rule } from '../../kubernetes/right.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import {
  mayImpersonateUsers,
  missingRights,
  type PolledUpstreamRights,
} from '../../kubernetes/upstream-rights.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { createOwnRights, createOwnUpstream, createProvisioningUpstream } from '../upstream.ts';

const USAGE = `Usage: stonegate check --config FILE [--offline]

Reads the configuration and every file it names, and prints each problem with
its path. What serve would start with all the same, such as a certificate that
has expired, or an index by which no list is filtered, is printed as a warning.
So is what the API server does not let Stonegate impersonate, list and watch;
and in arktos mode, if policies lack their definitions or their webhook, and
(with bindings.credential) each role binding of the system tenant that counts in
every tenant; in shared mode (with access.index) each of a tenant's group in
kube-system and stonegate, where the admission webhook judges nothing.

  --config FILE   the configuration
  --offline       do not ask the API server
  --help          this text

Exit codes: 0 the configuration is good, with warnings or without, 1 it is not,
2 wrong usage.
`;

const OPTIONS = { config: { type: 'string' }, offline: { type: 'boolean' } } as const;

/**
 * @param argv what follows `check`
 * @param clock for the validity of certificates
 */
export function check(
  argv: readonly string[],
  io: CommandIO,
  sources: LoadSources = systemSources,
  clock: Clock = systemClock,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, positionals) => {
    refuseWords(positionals);
    const { config, offline = false } = values;
    const loaded = await readConfiguration(config, sources);
    const warnings = [
      ...certificatesOutOfPeriod(loaded, clock.now()).map(formatProblem),
      ...certificatesOfOtherTenants(loaded).map(formatProblem),
      ...accessWarnings(loaded.configuration),
      ...(offline ? [] : await upstreamWarnings(loaded)),
      ...(offline ? [] : await systemBindings(loaded)),
    ];
    for (const warning of warnings) io.stderr(columns([[`warning: ${warning}`]]));
    const { length } = warnings;
    const but = length === 0 ? '' : `, with ${length} ${length === 1 ? 'warning' : 'warnings'}`;
    io.stdout(`${config} is good${but}\n`);
  });
}

/** Never aborted: an interrupted process just ends. */
const { signal } = new AbortController();

interface OwnUpstream {
  readonly rights: PolledUpstreamRights;
  readonly fetcher: Upstream;
}

/** @returns a warning for each thing that is missing, or one that the API server cannot be asked */
async function upstreamWarnings(loaded: LoadedConfiguration): Promise<string[]> {
  const runtime = commandRuntime();
  const generations = new Generations<OwnUpstream>(runtime.logger);
  try {
    generations.replace((generation) => {
      const build = { loaded, runtime, generation };
      return { rights: createOwnRights(build), fetcher: createOwnUpstream(build) };
    });
    return await whenAsked("upstream.server: the API server could not be asked for Stonegate's rights", () =>
      rightsWarnings(loaded.configuration, generations.current),
    );
  } finally {
    await generations.close();
  }
}

/** @returns one warning if the API server does not respond, so that the other warnings are still shown */
async function whenAsked(otherwise: string, ask: () => Promise<string[]>): Promise<string[]> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [`${otherwise}: ${reasonOf(error)}`];
  }
}

const APPLY_RIGHTS = 'apply the output of `stonegate manifests rbac --config FILE`';

async function rightsWarnings(
  configuration: StonegateConfiguration,
  { rights, fetcher }: OwnUpstream,
): Promise<string[]> {
  const isShared = configuration.tenancy.mode === 'shared';
  if (!(await mayImpersonateUsers(fetcher, isShared, signal)))
    return [
      `upstream.credential: may not impersonate users and groups, so the API server refuses every request: ${APPLY_RIGHTS}`,
    ];
  await rights.ask();
  const extras = [...rights.withheld].map(
    (key) =>
      `upstream.credential: may not impersonate the extra key ${key}, so it is omitted: ${APPLY_RIGHTS}`,
  );
  return [
    ...extras,
    ...(await missingRightsWarnings(configuration, fetcher)),
    ...(await policyWarnings(configuration, fetcher)),
    ...(isShared ? await unjudgedWarnings(configuration, fetcher) : []),
  ];
}

/** @returns one warning for each consequence of missing rights */
async function missingRightsWarnings(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<string[]> {
  const missing = new Map<string, string[]>();
  for (const { consequence, rule } of impersonatorRights(needsOf(configuration)))
    if (consequence !== undefined) {
      const known = missing.get(consequence) ?? [];
      missing.set(consequence, [...known, ...(await missingRights(fetcher, rule, signal))]);
    }
  return [...missing]
    .filter(([, rights]) => rights.length > 0)
    .map(
      ([consequence, rights]) =>
        `upstream.credential: may not ${rights.join(', ')}, so ${consequence}: ${APPLY_RIGHTS}`,
    );
}

/** Only with the right to list role bindings, which the credential has for the RBAC index. */
async function unjudgedWarnings(
  { admission }: Pick<StonegateConfiguration, 'admission'>,
  fetcher: UpstreamFetcher,
): Promise<string[]> {
  const missing = await missingRights(fetcher, LIST_ROLE_BINDINGS, signal);
  if (missing.length === 0)
    return whenAsked('upstream.server: the API server could not be asked for its role bindings', () =>
      unjudgedTenantWarnings(createObjects(fetcher), signal),
    );
  if (admission === undefined) return [];
  return [
    `upstream.credential: may not ${missing.join(', ')}, so this does not tell whether a tenant's group is bound in ${UNJUDGED_NAMESPACES.join(' or ')}, where the admission webhook judges nothing`,
  ];
}

const LIST_ROLE_BINDINGS = rule('rbac.authorization.k8s.io', ['rolebindings'], ['list']);

async function policyWarnings(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<string[]> {
  const enabled = enabledPolicies(configuration);
  const resources = resourcesOfPolicies(enabled);
  const ownKinds = resources.filter(({ group }) => group === TENANCY_GROUP).map(({ resource }) => resource);
  const unknown = 'upstream.server: the API server could not be asked for its';
  const definitions = await whenAsked(`${unknown} custom resources`, async () =>
    (await missingDefinitions(fetcher, ownKinds, signal)).map(
      (resource) =>
        `authorization: the API server has no ${resource}, so none grants anything: apply the output of \`stonegate manifests crds\``,
    ),
  );
  if (!enabled.crossTenantPolicies) return definitions;
  const webhooks = await whenAsked(`${unknown} webhooks`, async () =>
    (await hasPolicyWebhook(fetcher, signal)) ? [] : [NO_WEBHOOK],
  );
  return [...definitions, ...webhooks];
}

const NO_WEBHOOK =
  'authorization.crossTenantPolicies: the API server does not ask the admission webhook about CrossTenantPolicies, so they grant nothing: apply the output of `stonegate manifests admission`';

/** @returns nothing without `bindings.credential`, since no other credential may list role bindings */
async function systemBindings(loaded: LoadedConfiguration): Promise<string[]> {
  const { tenancy } = loaded.configuration;
  if (!createTenancyMode(loaded.configuration).readsTenantFromPath) return [];
  const upstream = createProvisioningUpstream(loaded, commandRuntime());
  if (upstream === undefined) return [];
  try {
    return await whenAsked('bindings.credential: the API server could not be asked for role bindings', () =>
      systemBindingWarnings(createObjects(upstream), tenancy.systemTenant, signal),
    );
  } finally {
    await upstream.destroy();
  }
}
