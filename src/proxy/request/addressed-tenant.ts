/**
 * The prefix `/tenants/T` of a request path: it addresses a tenant, so that a kubeconfig's server can be
 * `https://stonegate:8443/tenants/T`. It is removed here and nowhere else; what is below is read as any path.
 */

import { pathNotFound, StatusError } from '../../errors/status-error.ts';
import type { AddressedTenant, RequestInfo } from '../../kubernetes/request-info.ts';
import { isTenantName } from '../../tenancy/tenant-name.ts';

const WORD = '/tenants';
const PREFIX = `${WORD}/`;

export interface AddressedPath {
  /** The path without the prefix. */
  readonly path: string;
  readonly addressed?: AddressedTenant;
}

/**
 * @param path as sent
 * @param readsTenant whether tenants are part of paths
 * @throws StatusError NotFound for the prefix if they are not; RequestMalformed for a prefix below another,
 *   and for a name that is not written as a plain DNS-1123 label
 */
export function splitAddressed(path: string, readsTenant: boolean): AddressedPath {
  if (!path.startsWith(PREFIX)) {
    if (path === WORD && !readsTenant) throw pathNotFound();
    return { path };
  }
  if (!readsTenant) throw pathNotFound();
  const end = path.indexOf('/', PREFIX.length);
  const name = path.slice(PREFIX.length, end === -1 ? undefined : end);
  if (!isTenantName(name)) throw malformed('its prefix names a tenant that cannot be');
  const below = end === -1 ? '/' : path.slice(end);
  if (below === WORD || below.startsWith(PREFIX)) throw malformed('it has a tenant prefix below another');
  return { path: below, addressed: { tenant: name, prefix: `${PREFIX}${name}` } };
}

/** @throws StatusError RequestMalformed if the path below the prefix names another tenant */
export function assertSameTenant(info: RequestInfo): void {
  if (info.addressed === undefined || !info.isResourceRequest) return;
  const { tenant } = info.addressed;
  const other = info.tenant !== '' && info.tenant !== tenant;
  const { apiGroup, resource, name } = info;
  const otherObject = apiGroup === '' && resource === 'tenants' && name !== '' && name !== tenant;
  if (other || otherObject) throw malformed('it names another tenant than its prefix');
}

function malformed(what: string): StatusError {
  return new StatusError('RequestMalformed', `the request path is refused: ${what}`);
}
