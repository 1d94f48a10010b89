/**
 * Suggests the word that a user probably meant: a command, an option, a key of the configuration, a resource.
 */
import { closestMatch } from 'leven';

/** @returns `; did you mean X?` if a known word differs by a slip of the fingers, else an empty text */
export function didYouMean(word: string, known: Iterable<string>): string {
  const maxDistance = word.length < 4 ? 1 : 2;
  const found = closestMatch(word, [...known], { maxDistance });
  return found === undefined ? '' : `; did you mean ${found}?`;
}
