/**
 * 403 messages in the words of apimachinery and, for tenants, of Arktos. Stonegate's refusals are worded
 * like the API server's.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters (forbiddenMessage)
 */

import type { StatusDetails } from '../errors/status.ts';
import { StatusError } from '../errors/status-error.ts';
import type { NonResourceRequest, ResourceRequest } from './request-info.ts';

/** The parts of the request that a message contains. */
type ForbiddenRequest =
  | Pick<NonResourceRequest, 'isResourceRequest' | 'verb' | 'rawPath'>
  | Pick<
      ResourceRequest,
      'isResourceRequest' | 'verb' | 'apiGroup' | 'namespace' | 'resource' | 'subresource' | 'name'
    >;

/**
 * @param userName the impersonated name
 * @param tenant the tenant of the request; undefined if the cluster has no tenants
 * @param owner names the tenant after a namespace or a path; may be empty
 */
function forbiddenMessage(
  info: ForbiddenRequest,
  userName: string,
  tenant: string | undefined,
  owner: string,
): string {
  const user = JSON.stringify(userName);
  if (!info.isResourceRequest)
    return `forbidden: User ${user} cannot ${info.verb} path ${JSON.stringify(info.rawPath)}${owner}`;
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  const qualified = info.apiGroup === '' ? info.resource : `${info.resource}.${info.apiGroup}`;
  const subject = info.name === '' ? qualified : `${qualified} ${JSON.stringify(info.name)}`;
  const group = JSON.stringify(info.apiGroup);
  return `${subject} is forbidden: User ${user} cannot ${info.verb} resource "${resource}" in API group ${group} ${place(info.namespace, tenant, owner)}`;
}

function place(namespace: string, tenant: string | undefined, owner: string): string {
  if (namespace !== '') return `in the namespace ${JSON.stringify(namespace)}${owner}`;
  return tenant === undefined || tenant === ''
    ? 'at the cluster scope'
    : `in the tenant ${JSON.stringify(tenant)}`;
}

/**
 * The error, with the details that the API server gives. A refusal because of the tenant always names the
 * tenant that the request asked for, where the API server names the namespace alone.
 *
 * @param note what the user's roles nearly grant
 */
export function forbidden(
  code: 'TenantForbidden' | 'PathForbidden' | 'AccessDenied',
  info: ForbiddenRequest,
  userName: string,
  tenant: string | undefined,
  cause?: unknown,
  note?: string,
): StatusError {
  const details: StatusDetails = info.isResourceRequest
    ? {
        ...(info.name === '' ? {} : { name: info.name }),
        ...(info.apiGroup === '' ? {} : { group: info.apiGroup }),
        kind: info.resource,
      }
    : {};
  const owner = code === 'TenantForbidden' ? ` of the tenant ${JSON.stringify(tenant)}` : '';
  const message = forbiddenMessage(info, userName, tenant, owner);
  return new StatusError(code, note === undefined ? message : `${message}: ${note}`, { details, cause });
}
