/**
 * Asks the API server, for `stonegate check`: what Stonegate's credentials may do there, and what the
 * features that are configured rely on.
 */

import {
  systemBindingWarnings,
  UNJUDGED_NAMESPACES,
  unjudgedTenantWarnings,
} from '../../features/bindings/system-bindings.ts';
import { enabledPolicies } from '../../features/cross-tenant/enabled-policies.ts';
import { hasPolicyWebhook, missingDefinitions } from '../../features/cross-tenant/policy-checks.ts';
import { isQuotaRegistered, NOT_REGISTERED } from '../../features/quota/tenant-quota-manifests.ts';
import { modeProblem } from '../../features/served-mode.ts';
import { KINDS, placeOf, type StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { createObjects, type Objects } from '../../kubernetes/objects.ts';
import { rule } from '../../kubernetes/right.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import {
  mayImpersonateUsers,
  missingRights,
  type PolledUpstreamRights,
} from '../../kubernetes/upstream-rights.ts';
import { GIVEN_BY_MANAGE } from '../../rbac/cluster-roles.ts';
import { everywhere, operatorTenant } from '../../tenancy/places.ts';
import { DEFINITIONS, type StonegateBuild, type StonegateConfiguration } from '../configuration.ts';
import { createOwnRights, createUpstreams } from '../upstream.ts';
import { type CheckResult, error, failureOf, warning, whenAsked, withinLimit } from './check-result.ts';
import { provisionerRules } from './provisioner-manifests.ts';
import { impersonatorRights } from './rbac-manifests.ts';

const SERVER = 'upstream.server';
const CREDENTIAL = 'upstream.credential';
const PROVISIONER = 'bindings.credential';
const APPLY_RIGHTS = 'apply the output of `stonegate manifests rbac --config FILE`';
const APPLY_PROVISIONER = 'apply the output of `stonegate manifests rbac --provisioner --config FILE`';

/** Never aborted: `withinLimit` ends the wait, and the connections are destroyed afterwards. */
const { signal } = new AbortController();

/** @param build its components are disposed by the caller */
export async function checkUpstream(build: StonegateBuild): Promise<CheckResult[]> {
  const { loaded } = build;
  const { configuration } = loaded;
  const { upstream, provisioningUpstream } = createUpstreams(build);
  const rights = createOwnRights(build, upstream);
  const [own, provisioning] = await Promise.all([
    checkOwn(configuration, rights, upstream),
    provisioningUpstream === undefined ? [] : checkProvisioner(configuration, provisioningUpstream),
  ]);
  return [...own, ...provisioning];
}

async function checkOwn(
  configuration: StonegateConfiguration,
  rights: PolledUpstreamRights,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  try {
    return await withinLimit(ownRights(configuration, rights, fetcher));
  } catch (thrown) {
    const { reason, isRefused, isUntrusted } = failureOf(thrown);
    if (isRefused) return [error(CREDENTIAL, `${reason}, so every request fails: ${renewBy(APPLY_RIGHTS)}`)];
    if (isUntrusted) return [error('upstream.caFile', `every request fails: ${reason}`)];
    return [warning(SERVER, `the API server could not be asked for Stonegate's rights: ${reason}`)];
  }
}

/** @param apply whose output says how to get a credential */
function renewBy(apply: string): string {
  return `give it a valid token or certificate. ${apply.replace('apply the output', 'The head of the output')} says how to get one`;
}

async function ownRights(
  configuration: StonegateConfiguration,
  rights: PolledUpstreamRights,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const ofMode = await whenAsked(SERVER, 'its resources', async () => {
    const problem = await modeProblem(configuration.tenancy, fetcher, signal);
    return problem === undefined ? [] : [error('tenancy.mode', problem)];
  });
  if (ofMode.some(({ isError }) => isError)) return ofMode;
  const { mayConstrainImpersonation, throttlesWebhooks } = configuration.tenancy.facts;
  if (!(await mayImpersonateUsers(fetcher, mayConstrainImpersonation, signal)))
    return [
      error(
        CREDENTIAL,
        `may not impersonate users and groups, so the API server refuses every request: ${APPLY_RIGHTS}`,
      ),
    ];
  await rights.ask();
  const extras = [...rights.withheld].map((key) =>
    warning(CREDENTIAL, `may not impersonate the extra key ${key}, so it is omitted: ${APPLY_RIGHTS}`),
  );
  return [
    ...ofMode,
    ...extras,
    ...(await missingOwnRights(configuration, fetcher)),
    ...(await definitionWarnings(configuration, fetcher)),
    ...(throttlesWebhooks ? [] : await unjudgedWarnings(configuration, fetcher)),
  ];
}

/** @returns one result for each consequence of missing rights */
async function missingOwnRights(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const missing = new Map<string, string[]>();
  for (const { consequence, rule } of impersonatorRights(configuration))
    if (consequence !== undefined) {
      const known = missing.get(consequence) ?? [];
      missing.set(consequence, [...known, ...(await missingRights(fetcher, rule, signal))]);
    }
  return [...missing]
    .filter(([, rights]) => rights.length > 0)
    .map(([consequence, rights]) =>
      warning(CREDENTIAL, `may not ${rights.join(', ')}, so ${consequence}: ${APPLY_RIGHTS}`),
    );
}

/** Only with the right to list role bindings, which the credential has for the RBAC index. */
async function unjudgedWarnings(
  { admission }: Pick<StonegateConfiguration, 'admission'>,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const missing = await missingRights(fetcher, LIST_ROLE_BINDINGS, signal);
  if (missing.length === 0)
    return whenAsked(SERVER, 'its role bindings', async () =>
      (await unjudgedTenantWarnings(createObjects(fetcher, STONEGATE_ACCOUNT), signal)).map((line) =>
        warning(SERVER, line),
      ),
    );
  if (admission === undefined) return [];
  return [
    warning(
      CREDENTIAL,
      `may not ${missing.join(', ')}, so this does not tell whether a tenant's group is bound in ${UNJUDGED_NAMESPACES.join(' or ')}, where the admission webhook judges nothing`,
    ),
  ];
}

const LIST_ROLE_BINDINGS = rule('rbac.authorization.k8s.io', ['rolebindings'], ['list']);

async function definitionWarnings(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const needed = DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds).filter((kind) =>
    kind.isNeeded(configuration),
  );
  const definitions = await whenAsked(SERVER, 'its custom resources', async () => {
    const names = needed.map(({ definition }) => definition.resource);
    const missing = await missingDefinitions(fetcher, names, signal);
    return needed
      .filter(({ definition }) => missing.includes(definition.resource))
      .map(({ section, definition, consequence }) =>
        warning(
          section,
          `the API server has no ${definition.resource}, so ${consequence}: apply the output of \`stonegate manifests crds\``,
        ),
      );
  });
  if (!enabledPolicies(configuration).crossTenantPolicies) return definitions;
  const webhooks = await whenAsked(SERVER, 'its webhooks', async () =>
    (await hasPolicyWebhook(fetcher, signal)) ? [] : [NO_WEBHOOK],
  );
  return [...definitions, ...webhooks];
}

const NO_WEBHOOK = warning(
  'authorization.crossTenantPolicies',
  'the API server does not ask the admission webhook about CrossTenantPolicies, so they grant nothing: apply the output of `stonegate manifests admission`',
);

/** No request of a user is sent with this credential, so nothing here is an error. */
async function checkProvisioner(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const systemTenant = operatorTenant(configuration.tenancy);
  const objects = createObjects(fetcher, STONEGATE_ACCOUNT);
  try {
    return await withinLimit(
      (async () => [
        ...(await missingProvisionerRights(configuration, fetcher)),
        ...(await whenAsked(PROVISIONER, 'what quotas, members and tokens need', () =>
          missingObjects(configuration, objects),
        )),
        ...(systemTenant === undefined
          ? []
          : await whenAsked(PROVISIONER, 'role bindings', async () =>
              (await systemBindingWarnings(objects, systemTenant, signal)).map((line) =>
                warning(SERVER, line),
              ),
            )),
      ])(),
    );
  } catch (thrown) {
    const { reason, isRefused } = failureOf(thrown);
    return [
      isRefused
        ? warning(PROVISIONER, `${reason}, so nothing is provisioned: ${renewBy(APPLY_PROVISIONER)}`)
        : warning(PROVISIONER, `the API server could not be asked for the provisioner's rights: ${reason}`),
    ];
  }
}

/** Looks for objects that the output of `stonegate manifests rbac` and `crds` does not contain. */
async function missingObjects(
  { tokens, members, quota, tenancy }: StonegateConfiguration,
  objects: Objects,
): Promise<CheckResult[]> {
  const place = placeOf({ tenant: operatorTenant(tenancy) });
  const found: CheckResult[] = [];
  for (const [field, section] of Object.entries({ tokens, members }))
    if (section && (await objects.get(KINDS.Namespace, place, section.namespace, signal)) === undefined)
      found.push(warning(`${field}.namespace`, `there is no namespace ${section.namespace}: create it`));
  if (quota && !(await isQuotaRegistered(objects, signal))) found.push(warning('quota', NOT_REGISTERED));
  return members ? [...found, ...(await missingRoles(tenancy, objects))] : found;
}

/** Looks for the roles that members are given: of each tenant, if tenants have their own. */
async function missingRoles(tenancy: StonegateConfiguration['tenancy'], objects: Objects) {
  const { hasTenantsInPaths } = tenancy.facts;
  const systemTenant = operatorTenant(tenancy);
  const pathOf = ({ metadata: { tenant = '', name } }: StoredObject) => `${tenant}/${name}`;
  const made = new Set(await objects.list(KINDS.ClusterRole, everywhere(tenancy.facts), '', signal, pathOf));
  const tenants = hasTenantsInPaths
    ? await objects.list(KINDS.Tenant, {}, '', signal, ({ metadata }) => metadata.name)
    : [''];
  return GIVEN_BY_MANAGE.flatMap((role) => {
    const lacking = tenants.filter((tenant) => tenant !== systemTenant && !made.has(`${tenant}/${role}`));
    if (lacking.length === 0) return [];
    const [place, who] = hasTenantsInPaths
      ? [` in ${someOf(lacking)}`, ' as an administrator of the tenant']
      : ['', ''];
    return [
      warning(
        'members',
        `there is no ClusterRole ${role}${place}, so it cannot be granted: apply the output of \`stonegate manifests roles --config FILE\`${who}`,
      ),
    ];
  });
}

/** How many of what is missing are named. */
const NAMED = 5;

function someOf(missing: readonly string[]): string {
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : '';
  return `${missing.slice(0, NAMED).join(', ')}${more}`;
}

async function missingProvisionerRights(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const missing = new Set<string>();
  for (const each of provisionerRules(configuration))
    for (const right of await missingRights(fetcher, each, signal)) missing.add(right);
  if (missing.size === 0) return [];
  return [
    warning(
      PROVISIONER,
      `may not ${someOf([...missing])}, so what needs them is not provisioned: ${APPLY_PROVISIONER}`,
    ),
  ];
}
