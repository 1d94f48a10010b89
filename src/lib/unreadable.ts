/**
 * Why a file cannot be read, in words that can be followed by its name, and its name where it may be repeated.
 */

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'one this process may not read',
  EISDIR: 'a folder',
  ENOTDIR: 'one below something that is no folder',
  ELOOP: 'links that lead in a circle',
};

/**
 * @param error what reading it has thrown
 * @throws what it was given, where that is no error of the system
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  return REASONS[String(error.code)] ?? String(error.code);
}

/** A file's name, unless it looks as if the secret itself had been written there. */
export function tellable(name: string): string {
  const longest = Math.max(...name.split('/').map((part) => part.length));
  return longest > 40 ? '(a name too long to repeat; is it the secret itself?)' : name;
}
