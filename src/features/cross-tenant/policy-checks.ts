/**
 * What `stonegate check` asks about policies: whether their custom resource definitions were applied, and
 * whether the admission webhook is registered, without which no CrossTenantPolicy counts.
 */

import { StatusError } from '../../errors/status-error.ts';
import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import { listPages, MalformedObject, pagesOf, UnexpectedStatus } from '../../kubernetes/list-watch.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import { servedResources } from '../../kubernetes/served-resources.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { readRegistration } from './read-policy-object.ts';

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
  const served = await servedResources(fetcher, `/apis/${TENANCY_API_VERSION}`, signal);
  return resources.filter((resource) => !served.has(resource));
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
