/**
 * What names and groups of the cluster's, of Keystone's and of Stonegate's own begin with. No other source may give
 * such a name, and nobody may ask for one.
 */

export const RESERVED_PREFIXES = ['system:', 'keystone:', 'stonegate:'] as const;

/** @returns what makes the name a reserved one; undefined where it is none */
export function reservedPrefixOf(name: string): string | undefined {
  return RESERVED_PREFIXES.find((prefix) => name.startsWith(prefix));
}
