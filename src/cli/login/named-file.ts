/**
 * A file that an option or a word of a cloud names, for a login: what is wrong with it is told as the login's own failure.
 */
import { type GivenFile, readGiven } from '../given-file.ts';
import { LoginError } from './credential-source.ts';

/** @throws LoginError that names the option and the file */
export async function readGivenForLogin(given: GivenFile): Promise<string> {
  try {
    return await readGiven(given);
  } catch (error) {
    throw error instanceof Error ? new LoginError(error.message) : error;
  }
}
