/**
 * Codes of errors of the operating system and of Node, and the messages of any.
 * https://nodejs.org/api/errors.html#common-system-errors
 */

/** @returns `ENOENT`, …; undefined for an error without a code */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(codeOf(error) ?? '');
}

/** What was thrown need not be an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of the innermost cause that has one. */
export function innermostCode(error: unknown): string | undefined {
  let code: string | undefined;
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 5; depth += 1) {
    const { cause } = current;
    code = codeOf(current) ?? code;
    current = cause;
  }
  return code;
}
