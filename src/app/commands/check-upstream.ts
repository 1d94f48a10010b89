/**
 * Asks the API server, for `stonegate check`: what Stonegate's credentials may do there, and what the
 * features that are configured rely on.
 */

import { someOf } from '../../config/problem.ts';
import {
  systemBindingWarnings,
  UNJUDGED_NAMESPACES,
  unjudgedTenantWarnings,
} from '../../features/bindings/system-bindings.ts';
import { modeProblem } from '../../features/served-mode.ts';
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import { KINDS, placeOf } from '../../kubernetes/kubernetes-object.ts';
import { createObjects, type Objects } from '../../kubernetes/objects.ts';
import { holdAll, rule } from '../../kubernetes/right.ts';
import { servedResources } from '../../kubernetes/served-resources.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import {
  mayImpersonateUsers,
  missingRights,
  type PolledUpstreamRights,
} from '../../kubernetes/upstream-rights.ts';
import { operatorTenant } from '../../tenancy/places.ts';
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
    ...(await whenAsked(SERVER, 'its webhooks', () =>
      ofFeatures((feature) => feature.findIneffective?.(configuration, fetcher, signal)),
    )),
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

const LIST_ROLE_BINDINGS = rule('rbac.authorization.k8s.io', 'rolebindings', 'list');

async function definitionWarnings(
  configuration: StonegateConfiguration,
  fetcher: UpstreamFetcher,
): Promise<CheckResult[]> {
  const given = { ...configuration, ...configuration.tenancy.facts };
  const needed = DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds).filter(({ modes = [], when }) =>
    holdAll([...modes, ...when], given),
  );
  if (needed.length === 0) return [];
  return whenAsked(SERVER, 'its custom resources', async () => {
    const served = await servedResources(fetcher, `/apis/${TENANCY_API_VERSION}`, signal);
    return needed
      .filter(({ definition }) => !served.has(definition.resource))
      .map(({ section, definition, consequence }) =>
        warning(
          section,
          `the API server has no ${definition.resource}, so ${consequence}: apply the output of \`stonegate manifests crds\``,
        ),
      );
  });
}

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
  configuration: StonegateConfiguration,
  objects: Objects,
): Promise<CheckResult[]> {
  const place = placeOf({ tenant: operatorTenant(configuration.tenancy) });
  const namespaces = await ofFeatures(async ({ name, namespace }) => {
    const needed = namespace?.(configuration);
    return needed === undefined || (await objects.get(KINDS.Namespace, place, needed, signal))
      ? []
      : [warning(`${name}.namespace`, `there is no namespace ${needed}: create it`)];
  });
  const others = await ofFeatures((feature) => feature.findMissing?.(configuration, objects, signal));
  return [...namespaces, ...others];
}

/** @returns what is found of each feature, in the order of the features */
async function ofFeatures(
  find: (feature: (typeof DEFINITIONS)[number]) => Promise<readonly CheckResult[]> | undefined,
): Promise<CheckResult[]> {
  return (await Promise.all(DEFINITIONS.map((feature) => find(feature) ?? []))).flat();
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
