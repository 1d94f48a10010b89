/**
 * A tenant's name is a DNS-1123 label: it is part of paths, user names and groups, in which other characters
 * have a meaning. https://www.rfc-editor.org/rfc/rfc1123#section-2
 */

import { StatusError } from '../errors/status-error.ts';
import type { TenantName } from '../kubernetes/request-info.ts';

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function isTenantName(name: string): name is TenantName {
  return LABEL.test(name);
}

/** @throws StatusError TenantUnknown for what can be no tenant's name */
export function toTenantName(name: string): TenantName {
  if (isTenantName(name)) return name;
  throw new StatusError(
    'TenantUnknown',
    `${JSON.stringify(name)} can be no tenant's name: lower-case letters, digits and "-", at most 63, are`,
  );
}

const ANONYMOUS = 'system:anonymous';

/** The tenant of anonymous requests, for limits and logs. No tenant can have this name. */
export const NO_TENANT: TenantName = unlabelled(ANONYMOUS);

function unlabelled(name: string): TenantName {
  if (isAnonymous(name)) return name;
  throw new Error(`${JSON.stringify(name)} is not the name of anonymous requests`);
}

function isAnonymous(name: string): name is TenantName {
  return name === ANONYMOUS;
}
