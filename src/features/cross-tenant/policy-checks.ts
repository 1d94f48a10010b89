/**
 * What `stonegate check` asks about policies: whether their custom resource definitions were applied, and
 * whether the admission webhook is registered, without which no CrossTenantPolicy counts.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import { StatusError } from '../../errors/status-error.ts';
import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { listPages, MalformedObject, pagesOf, UnexpectedStatus } from '../../kubernetes/list-watch.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import { goList, isJSONObject, readJSONObject } from '../../lib/json-object.ts';
import { readRegistration } from './read-policy-object.ts';
import { TENANCY_API_VERSION } from './tenancy-v1alpha1.ts';

const WEBHOOKS = collectionPath(VALIDATING_WEBHOOKS, {});

/**
 * @param resources in the plural, of the group `tenancy.stonegate.dev`
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no discovery document
 */
export async function missingDefinitions(
  fetcher: UpstreamFetcher,
  resources: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  if (resources.length === 0) return [];
  const { status, body } = await fetcher.fetch(ownGet(`/apis/${TENANCY_API_VERSION}`), signal);
  // The group is there if one of its kinds is.
  if (status === 404) return [...resources];
  const served = status === 200 ? resourcesIn(body) : undefined;
  if (served === undefined)
    throw new StatusError(
      'UpstreamUnavailable',
      `the API server's response for ${TENANCY_API_VERSION} is no list of resources: its status is ${status}`,
    );
  return resources.filter((resource) => !served.has(resource));
}

/** @returns the names of an APIResourceList; undefined for what is none */
function resourcesIn(body: Buffer): ReadonlySet<unknown> | undefined {
  const resources = goList(readJSONObject(body)?.resources);
  return resources && new Set(resources.map((resource) => isJSONObject(resource) && resource.name));
}

/** @throws StatusError as the fetcher does, UpstreamUnavailable if there is no list */
export async function hasPolicyWebhook(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<boolean> {
  let registered = false;
  try {
    for await (const { items } of listPages(pagesOf({ path: WEBHOOKS, upstream: () => fetcher }, signal)))
      registered ||= items.some(({ value }) => readRegistration(value)?.registered === true);
  } catch (error) {
    if (!(error instanceof UnexpectedStatus || error instanceof MalformedObject)) throw error;
    throw new StatusError(
      'UpstreamUnavailable',
      `the webhook configurations could not be listed: ${error.message}`,
      { cause: error },
    );
  }
  return registered;
}
