/**
 * Validates names that come from a credential or an issuer: a name must be printable, and must not be
 * reserved for the cluster, Keystone or Stonegate. An invalid name is refused, never converted.
 */

import { refusedName } from '../errors/status-error.ts';
import { reservedPrefixOf } from '../kubernetes/reserved-names.ts';
import { isPrintable } from '../lib/untrusted-text.ts';

/**
 * @param what names the source in the message: `claim "groups"`
 * @throws StatusError IdentityUnusable for an empty value, control characters, or blanks at either end
 */
export function requirePrintableText(value: string, what: string): string {
  if (isPrintable(value)) return value;
  throw refusedName(
    'IdentityUnusable',
    `${what} cannot be used: it is empty, or has control characters or spaces at an end`,
    value,
  );
}

/**
 * @throws StatusError IdentityReserved for a name that only the cluster, Keystone or Stonegate itself may
 *   give
 */
export function requireUnreservedName(name: string, what: string): string {
  const prefix = reservedPrefixOf(name);
  if (prefix === undefined) return name;
  throw refusedName('IdentityReserved', `${what} leads to a name that begins with "${prefix}"`, name);
}
