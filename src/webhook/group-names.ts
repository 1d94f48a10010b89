/**
 * The names of groups are asked for once for each answer of Keystone's about a token, and forgotten with it.
 */
import type { Identity } from '../api/identity.ts';
import type { GroupNames } from './ports.ts';

/** @param list asks Keystone; what it throws is not remembered */
export function createGroupNames(
  list: (userID: string, token: string) => Promise<readonly string[]>,
): GroupNames {
  const asked = new WeakMap<Identity, Promise<readonly string[]>>();
  return {
    of(identity, token) {
      const known = asked.get(identity);
      if (known !== undefined) return known;
      const names = list(identity.uid, token);
      asked.set(identity, names);
      names.catch(() => asked.delete(identity));
      return names;
    },
  };
}
