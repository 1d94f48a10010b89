/**
 * Whether the API server asks the admission webhook about CrossTenantPolicies. Without that none counts, as
 * nothing has checked what its author may grant.
 */
import { StatusError } from '../../errors/status-error.ts';
import { listPages, MalformedObject, pagesOf, UnexpectedStatus } from '../../kubernetes/list-watch.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { readRegistration } from './read-policy-object.ts';

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** @throws StatusError as the fetcher does, UpstreamUnavailable if there is no list */
export async function hasPolicyWebhook(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<boolean> {
  let registered = false;
  try {
    for await (const { items } of listPages(pagesOf(() => fetcher, PATH, signal)))
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
