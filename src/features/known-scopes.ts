/**
 * Keystone's projects and domains, by whose names `members` and `who-can` show groups. If Keystone cannot be
 * asked, both features show ids instead.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Scopes } from '../proxy/subject-owner.ts';

/** @returns undefined if Keystone cannot be asked; then `warnings` has one more */
export async function knownScopes(
  keystone: { scopes(): Promise<Scopes> } | undefined,
  warnings: string[],
): Promise<Scopes | undefined> {
  try {
    return await keystone?.scopes();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    warnings.push('Keystone cannot be asked, so its projects are shown by their ids');
    return undefined;
  }
}
