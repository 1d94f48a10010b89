/**
 * Asks the API server what Stonegate's own credential may do.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
 */

import type { HeaderList } from '../lib/header-list.ts';
import { type JSONObject, readJSONObject } from '../lib/json-object.ts';
import { postReview, reviewStatusOf } from './access-reviews.ts';
import type { GroupResource } from './meta-v1.ts';
import type { UpstreamFetcher } from './upstream-ports.ts';
import { ownGet, STONEGATE_ACCOUNT } from './upstream-request.ts';

const PATH = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const AUTHENTICATION = 'authentication.k8s.io';
const ACCEPT: HeaderList[number] = ['Accept', 'application/json'];
/**
 * A request that impersonates a group and no user is refused by both implementations, each in its own words.
 */
const PROBE: HeaderList = [ACCEPT, ['Impersonate-Group', 'stonegate:probe']];
const CONSTRAINED_WORDS = 'without impersonating a user name';

export interface OwnReviewsOptions {
  readonly fetcher: UpstreamFetcher;
}

/**
 * Whether the credential may impersonate an extra key: both the key and users in one mode, as the API server
 * decides a request in one mode as a whole.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function mayImpersonate(
  fetcher: UpstreamFetcher,
  key: string,
  constrained: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const may = (verb: string, group: string, resource: string, subresource: string) =>
    isAllowed(fetcher, { verb, group, version: 'v1', resource, subresource }, signal);
  const legacy =
    (await may('impersonate', AUTHENTICATION, 'userextras', key)) &&
    (await may('impersonate', '', 'users', ''));
  if (legacy || !constrained) return legacy;
  const verb = 'impersonate:user-info';
  return (
    (await may(verb, AUTHENTICATION, 'userextras', key)) && (await may(verb, AUTHENTICATION, 'users', ''))
  );
}

/**
 * Whether the credential may impersonate users and groups at all: without that, every forwarded request is
 * refused.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function mayImpersonateUsers(
  { fetcher, mayBeConstrained }: OwnReviewsOptions & { readonly mayBeConstrained: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const may = async (verb: string, group: string) => {
    const review = (resource: string) => isAllowed(fetcher, { verb, group, version: 'v1', resource }, signal);
    return (await review('users')) && (await review('groups'));
  };
  if (await may('impersonate', '')) return true;
  return (
    mayBeConstrained &&
    (await hasConstrained(fetcher, signal)) &&
    may('impersonate:user-info', AUTHENTICATION)
  );
}

/**
 * Which rights to list and watch the resources the credential lacks, such as `watch roles`.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function missingListWatchRights(
  { fetcher }: OwnReviewsOptions,
  resources: readonly GroupResource[],
  signal: AbortSignal,
): Promise<string[]> {
  const missing: string[] = [];
  for (const { group, resource } of resources)
    for (const verb of ['list', 'watch'])
      if (!(await isAllowed(fetcher, { verb, group, resource }, signal))) missing.push(`${verb} ${resource}`);
  return missing;
}

/**
 * Whether the credential may read Tenant objects, which Arktos shows to users of the system tenant alone.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export function mayReadTenants({ fetcher }: OwnReviewsOptions, signal: AbortSignal): Promise<boolean> {
  return isAllowed(fetcher, { verb: 'get', group: '', version: 'v1', resource: 'tenants' }, signal);
}

async function isAllowed(
  fetcher: UpstreamFetcher,
  resourceAttributes: JSONObject,
  signal: AbortSignal,
): Promise<boolean> {
  const kind = 'SelfSubjectAccessReview';
  const review = { kind, apiVersion: 'authorization.k8s.io/v1', spec: { resourceAttributes } };
  const response = await postReview(
    fetcher,
    { account: STONEGATE_ACCOUNT, sender: { kind: 'stonegate' }, target: PATH },
    review,
    signal,
  );
  return reviewStatusOf(response, kind).allowed;
}

/**
 * The feature has no discovery, and a version is only a hint, as its gate can be off. The two implementations
 * of the impersonation filter word one refusal differently, before any authorization (k8s.io/apiserver 0.35
 * and later).
 */
export async function hasConstrained(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<boolean> {
  const response = await fetcher.fetch({ ...ownGet('/version'), headers: PROBE }, signal);
  const message = response.status === 400 ? readJSONObject(response.body)?.message : undefined;
  return typeof message === 'string' && message.endsWith(CONSTRAINED_WORDS);
}
