/**
 * What may become of text that a source of identities gives: a name or a group that reads the same everywhere, and
 * that is not one of the cluster's, of Keystone's or of Stonegate's own. Refused, never converted.
 */
import { reservedPrefixOf } from '../api/reserved-names.ts';
import { refusedName } from '../errors/status-error.ts';
import { isPrintable } from '../lib/printable-text.ts';

/**
 * @param what names its source in the message: `claim "groups"`
 * @throws StatusError IdentityUnusable for an empty value, one with control characters, or with blanks at its ends
 */
export function requirePrintableText(value: string, what: string): string {
  if (isPrintable(value)) return value;
  throw refusedName(
    'IdentityUnusable',
    `${what} cannot be used: it is empty, or has control characters or blanks at an end`,
    value,
  );
}

/** @throws StatusError IdentityReserved for a name that only the cluster, Keystone or Stonegate itself may give */
export function requireUnreservedName(name: string, what: string): string {
  const prefix = reservedPrefixOf(name);
  if (prefix === undefined) return name;
  throw refusedName('IdentityReserved', `${what} leads to a name that begins with "${prefix}"`, name);
}
