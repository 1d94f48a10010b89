/**
 * Codes of errors of the operating system and of Node.
 * https://nodejs.org/api/errors.html#common-system-errors
 */

/** @returns `ENOENT`, …; undefined for an error without a code */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(codeOf(error) ?? '');
}
