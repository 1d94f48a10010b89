/**
 * Forbidden messages in the words of apimachinery and, for tenants, of Arktos, so that nobody can tell from a
 * refusal whether Stonegate or the API server gave it.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters (forbiddenMessage)
 */
import type { StatusDetails } from '../api/meta-v1.ts';
import type { NonResourceRequest, ResourceRequest } from '../api/request-info.ts';
import { StatusError } from './status-error.ts';

/** What was asked for, as far as a refusal says it. */
type Asked =
  | Pick<NonResourceRequest, 'isResourceRequest' | 'verb' | 'rawPath'>
  | Pick<
      ResourceRequest,
      'isResourceRequest' | 'verb' | 'apiGroup' | 'namespace' | 'resource' | 'subresource' | 'name'
    >;

/**
 * @param userName as the API server would know it (the impersonated name)
 * @param tenant the tenant the request concerns; undefined where the cluster knows no tenants
 */
function forbiddenMessage(info: Asked, userName: string, tenant: string | undefined): string {
  const user = JSON.stringify(userName);
  if (!info.isResourceRequest)
    return `forbidden: User ${user} cannot ${info.verb} path ${JSON.stringify(info.rawPath)}`;
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  const qualified = info.apiGroup === '' ? info.resource : `${info.resource}.${info.apiGroup}`;
  const subject = info.name === '' ? qualified : `${qualified} ${JSON.stringify(info.name)}`;
  const group = JSON.stringify(info.apiGroup);
  return `${subject} is forbidden: User ${user} cannot ${info.verb} resource "${resource}" in API group ${group} ${place(info.namespace, tenant)}`;
}

function place(namespace: string, tenant: string | undefined): string {
  if (namespace !== '') return `in the namespace ${JSON.stringify(namespace)}`;
  return tenant === undefined || tenant === ''
    ? 'at the cluster scope'
    : `in the tenant ${JSON.stringify(tenant)}`;
}

/** The error for it, with the details the API server gives. */
export function forbidden(
  code: 'TenantForbidden' | 'PathForbidden' | 'AccessDenied',
  info: Asked,
  userName: string,
  tenant: string | undefined,
  cause?: unknown,
): StatusError {
  const details: StatusDetails = info.isResourceRequest
    ? {
        ...(info.name === '' ? {} : { name: info.name }),
        ...(info.apiGroup === '' ? {} : { group: info.apiGroup }),
        kind: info.resource,
      }
    : {};
  return new StatusError(code, forbiddenMessage(info, userName, tenant), { details, cause });
}
