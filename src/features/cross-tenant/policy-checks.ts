/**
 * Finds out whether the admission webhook is registered. Without it no CrossTenantPolicy counts.
 */

import type { Problem } from '../../config/problem.ts';
import { StatusError } from '../../errors/status-error.ts';
import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { listPages, MalformedObject, pagesOf, UnexpectedStatus } from '../../kubernetes/list-watch.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { readRegistration } from './read-policy-object.ts';

const NO_WEBHOOK =
  'the API server does not ask the admission webhook about CrossTenantPolicies, so they grant nothing: apply the output of `stonegate manifests admission`';
const WEBHOOKS = collectionPath(VALIDATING_WEBHOOKS, {});

/** @throws StatusError as the fetcher does, UpstreamUnavailable if there is no list */
export async function uncheckedPolicies(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<Problem[]> {
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
  return registered ? [] : [{ path: 'authorization.crossTenantPolicies', message: NO_WEBHOOK }];
}
