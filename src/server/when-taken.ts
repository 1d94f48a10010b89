/**
 * Whoever lends memory to a write learns that it is theirs again. Node calls back with an error where the write failed, and
 * then what holds the memory still is not known.
 */
export function whenTaken(onTaken: (() => void) | undefined): ((error?: Error | null) => void) | undefined {
  if (onTaken === undefined) return undefined;
  return (error) => {
    if (error === undefined || error === null) onTaken();
  };
}
