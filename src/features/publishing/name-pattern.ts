/**
 * Patterns of the names of cluster-scoped objects that may be published, as the operator writes them.
 */

/** @param pattern with at most one `*`, which stands for any characters or none */
export function matchesPattern(pattern: string, name: string): boolean {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return name === pattern;
  return name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after);
}
