/**
 * Files named by options. Errors name the option, because a command may take several files.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { reasonOf, tellable } from '../lib/file-errors.ts';

export interface GivenFile {
  /** As typed: `--token-file`. */
  readonly option: string;
  readonly file: string;
}

/**
 * @param folder the base of a relative name; without it the working directory
 * @throws Error that names the option and the file
 */
export async function readGiven({ option, file }: GivenFile, folder = ''): Promise<string> {
  try {
    return await readFile(resolve(folder, file), 'utf8');
  } catch (error) {
    throw new Error(`${option}: ${reasonOf(error)}: ${tellable(file)}`);
  }
}

/** The characters of a bearer token, as in Stonegate's token file. A key or other text contains blanks. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @throws Error if the file cannot be read, is empty or contains no token; never quotes the content */
export async function readGivenToken(given: GivenFile): Promise<string> {
  const token = (await readGiven(given)).trim();
  if (token === '') throw new Error(`${given.option}: ${tellable(given.file)} is empty`);
  if (!TOKEN.test(token)) throw new Error(`${given.option}: ${tellable(given.file)} holds no token`);
  return token;
}

/** @returns undefined if the option was not given */
export function givenFile(option: string, file: string | undefined): GivenFile | undefined {
  return file === undefined ? undefined : { option, file };
}
