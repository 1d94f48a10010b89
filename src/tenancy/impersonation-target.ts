/**
 * Which users may be impersonated, by name. A requested name is put below the prefix of the caller's tenant,
 * unless it already starts with it, so that no name leads out of the tenant. The cluster's own users are
 * refused before the API server is asked, since an administrator of a tenant may impersonate every name by
 * its rules.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Extra } from '../kubernetes/authentication-v1.ts';
import { reservedPrefixOf } from '../kubernetes/reserved-names.ts';
import { assertUsable } from './user-name.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Nothing of it is authorised yet. */
export interface ImpersonationTarget {
  /** The name by which the API server is to know the user. */
  readonly username: string;
  /** The service account whose user name it is. */
  readonly serviceAccount?: ServiceAccount;
  /** What everybody of the tenant has. */
  readonly groups: readonly string[];
  readonly extra: Extra;
}

const SYSTEM = 'system:';
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** A namespace is a label, a service account's name a subdomain. RFC 1123 §2.1 */
const SERVICE_ACCOUNT = new RegExp(`^system:serviceaccount:(${LABEL}):(${LABEL}(?:\\.${LABEL})*)$`);

/**
 * @param wanted as the client names them
 * @param prefix which all names of the tenant begin with and no other's, with the colon at its end
 * @param systemUser true for a prefix under `system:` that the tenancy mode itself has chosen
 * @returns the whole name
 * @throws StatusError ImpersonationForbidden for what is the cluster's, Keystone's or Stonegate's to name,
 *   IdentityUnusable for what would arrive as another name
 */
export function nameBelow(prefix: string, wanted: string, systemUser = false): string {
  const own = wanted.startsWith(prefix) ? wanted.slice(prefix.length) : wanted;
  if (reservedPrefixOf(own) !== undefined || (prefix.startsWith(SYSTEM) && !systemUser))
    throw reservedName(wanted);
  assertUsable(own, 'the name of the user to impersonate');
  return `${prefix}${own}`;
}

/** The refusal of a name that no client may ask for. */
export function reservedName(wanted: string): StatusError {
  return new StatusError(
    'ImpersonationForbidden',
    `impersonation is refused: the user name ${JSON.stringify(wanted)} is reserved`,
  );
}

/** @returns undefined if it is not the name of a service account */
export function serviceAccountOf(username: string): ServiceAccount | undefined {
  const [, namespace, name] = SERVICE_ACCOUNT.exec(username) ?? [];
  return namespace === undefined || name === undefined || name.length > 253 ? undefined : { namespace, name };
}
