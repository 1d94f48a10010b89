/**
 * The resources that the API server has in one version of an API group, by its discovery.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import { StatusError } from '../errors/status-error.ts';
import { goList, isJSONObject, readJSONObject } from '../lib/json-object.ts';
import type { UpstreamFetcher } from './upstream-ports.ts';
import { ownGet } from './upstream-request.ts';

/**
 * @param path of the version, such as `/api/v1` or `/apis/apps/v1`
 * @returns names in the plural; none if the API server has no such version
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no discovery document
 */
export async function servedResources(
  fetcher: UpstreamFetcher,
  path: string,
  signal: AbortSignal,
): Promise<ReadonlySet<unknown>> {
  const { status, body } = await fetcher.fetch(ownGet(path), signal);
  if (status === 404) return new Set();
  const resources = status === 200 ? goList(readJSONObject(body)?.resources) : undefined;
  if (resources === undefined)
    throw new StatusError(
      'UpstreamUnavailable',
      `the API server's response for ${path} is no list of resources: its status is ${status}`,
    );
  return new Set(resources.map((resource) => isJSONObject(resource) && resource.name));
}
