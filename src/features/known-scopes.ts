/**
 * Keystone's projects and domains for what two features show, members and who-can: without them the groups
 * are still right.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Scopes } from '../proxy/subject-owner.ts';

/** @returns undefined if Keystone cannot be asked: then groups are shown by their ids */
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
