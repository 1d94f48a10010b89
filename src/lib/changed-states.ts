/**
 * States that are looked at again and again, and reported only when they change.
 */

/** @returns whether the text of a state differs from the last one; at first, from the empty text */
export function createChangedStates(): (state: string, text: string) => boolean {
  const known = new Map<string, string>();
  return (state, text) => {
    const before = known.get(state) ?? '';
    known.set(state, text);
    return text !== before;
  };
}
