/**
 * Finds what a user names on the command line: whole, or without what all names of the tenant begin with.
 */
import { StonegateAPIError } from './stonegate-api.ts';

/**
 * @param namesOf all names of one; the last one distinguishes it
 * @param none the message if there is none
 * @throws StonegateAPIError
 */
export function onlyOne<T>(
  all: readonly T[],
  wanted: string,
  namesOf: (one: T) => readonly string[],
  none: string,
): T {
  const exact = all.filter((one) => namesOf(one).includes(wanted));
  const ending = all.filter((one) => namesOf(one).some((name) => name.endsWith(`:${wanted}`)));
  const found = exact.length > 0 ? exact : ending;
  const [only, other] = found;
  if (only === undefined) throw new StonegateAPIError(none);
  if (other === undefined) return only;
  throw new StonegateAPIError(`which one: ${found.map((one) => namesOf(one).at(-1)).join(', ')}?`);
}
