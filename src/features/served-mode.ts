/**
 * Compares the tenancy mode with the API server: only Arktos has `tenants` in the core group.
 */
import type { TenancyConfiguration } from '../config/core-configuration.ts';
import { servedResources } from '../kubernetes/served-resources.ts';
import type { UpstreamFetcher } from '../kubernetes/upstream-ports.ts';

const CORE = '/api/v1';

/**
 * @returns what is wrong and what to do; undefined if the mode is that of the API server
 * @throws StatusError as `servedResources` does
 */
export async function modeProblem(
  { mode, facts }: Pick<TenancyConfiguration, 'mode' | 'facts'>,
  fetcher: UpstreamFetcher,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hasTenants = (await servedResources(fetcher, CORE, signal)).has('tenants');
  if (hasTenants === facts.tenantsAreObjects) return undefined;
  const [server, right] = hasTenants
    ? [`is Arktos (it has tenants in ${CORE})`, 'Set arktos, the mode for Arktos']
    : [
        `is not Arktos (it has no tenants in ${CORE})`,
        'Set shared, the mode for an ordinary Kubernetes cluster',
      ];
  return `every request of a user fails: the mode is ${mode}, but the API server ${server}. ${right}, and apply the output of \`stonegate manifests rbac --config FILE\` again`;
}
