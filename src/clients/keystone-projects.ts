/**
 * The projects a token could be exchanged for.
 * https://docs.openstack.org/api-ref/identity/v3/#get-available-project-scopes
 */
import { isJSONObject } from '../lib/json-object.ts';
import { type KeystoneHTTP, keystoneUnavailable } from './keystone-http.ts';

export interface AvailableProject {
  readonly id: string;
  readonly name: string;
}

/**
 * @returns without the disabled ones, which Keystone lists too
 * @throws StatusError KeystoneUnavailable where Keystone gives no list
 */
export async function listProjects(
  http: KeystoneHTTP,
  token: string,
  signal?: AbortSignal,
): Promise<AvailableProject[]> {
  const answer = await http.exchange({
    method: 'GET',
    path: '/auth/projects',
    headers: { 'x-auth-token': token },
    refusals: [],
    ...(signal !== undefined && { signal }),
  });
  const { projects } = answer.body;
  if (!Array.isArray(projects))
    throw keystoneUnavailable(new Error(`Keystone answered ${answer.status} without projects`));
  return projects.flatMap(readProject);
}

function readProject(value: unknown): AvailableProject[] {
  if (!isJSONObject(value) || value.enabled === false) return [];
  const { id, name } = value;
  return typeof id === 'string' && typeof name === 'string' ? [{ id, name }] : [];
}
