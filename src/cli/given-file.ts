/**
 * Files that options name. What is wrong with one is told with its option: of several files the person has to know which.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { reasonOf, tellable } from '../lib/file-errors.ts';

export interface GivenFile {
  /** As it is typed: `--token-file`. */
  readonly option: string;
  readonly file: string;
}

/**
 * @param folder where a relative name begins; without it the working directory
 * @throws Error that names the option and the file
 */
export async function readGiven({ option, file }: GivenFile, folder = ''): Promise<string> {
  try {
    return await readFile(resolve(folder, file), 'utf8');
  } catch (error) {
    throw new Error(`${option}: ${reasonOf(error)}: ${tellable(file)}`);
  }
}

/** As a bearer token can be sent; Stonegate's own token file takes the same. A key or a page of text has blanks. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @throws Error where it cannot be read, is empty or holds no token; never with a word of what it holds */
export async function readGivenToken(given: GivenFile): Promise<string> {
  const token = (await readGiven(given)).trim();
  if (token === '') throw new Error(`${given.option}: ${tellable(given.file)} is empty`);
  if (!TOKEN.test(token)) throw new Error(`${given.option}: ${tellable(given.file)} holds no token`);
  return token;
}

/** @returns undefined where the option was not given */
export function givenFile(option: string, file: string | undefined): GivenFile | undefined {
  return file === undefined ? undefined : { option, file };
}
