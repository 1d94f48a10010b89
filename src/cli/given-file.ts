/**
 * Files named by options. Errors name the option, because a command may take several files. A `data:` URL in
 * place of a name is the content itself.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { textOfDataURL } from '../lib/data-url.ts';
import { displayedFileName, reasonOf } from '../lib/file-errors.ts';

/**
 * @param option as typed: `--ca-file`
 * @param folder the base of a relative name; without it the working directory
 * @throws Error that names the option and the file
 */
export async function readGiven(option: string, file: string, folder = ''): Promise<string> {
  const text = textOfDataURL(file);
  if (text !== undefined) return text;
  try {
    return await readFile(resolve(folder, file), 'utf8');
  } catch (error) {
    throw new Error(`${option}: ${reasonOf(error)}: ${displayedFileName(file)}`);
  }
}

/**
 * @returns the PEM of certificate authorities
 * @throws Error if the file cannot be read, or its certificates cannot
 */
export async function readAuthority(option: string, file: string, folder = ''): Promise<string> {
  const pem = await readGiven(option, file, folder);
  // Imported on demand: `stonegate login` needs no certificates to use a cached token.
  const { checkContent } = await import('../config/content-checks.ts');
  if (checkContent('ca', Buffer.from(pem)) !== undefined)
    throw new Error(`${option}: ${displayedFileName(file)} holds no certificate`);
  return pem;
}

/**
 * Makes a name absolute. kubectl passes options without a shell, so `~/` is expanded here.
 *
 * @param folder the base of a relative name; without it the working directory
 */
export function absoluteName(file: string, env: NodeJS.ProcessEnv, folder = ''): string {
  if (textOfDataURL(file) !== undefined) return file;
  return resolve(folder, file.replace(/^~(?=\/)/, env.HOME || homedir()));
}

/** The characters of a bearer token, as in Stonegate's token file. A key or other text contains blanks. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * @param file undefined if the option was not given
 * @throws Error if the file cannot be read, is empty or contains no token; never quotes the content
 */
export async function readGivenToken(option: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const token = (await readGiven(option, file)).trim();
  if (token === '') throw new Error(`${option}: ${displayedFileName(file)} is empty`);
  if (!TOKEN.test(token)) throw new Error(`${option}: ${displayedFileName(file)} holds no token`);
  return token;
}
