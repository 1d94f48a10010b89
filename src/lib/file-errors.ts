/**
 * Reasons why a file cannot be read or written, for messages to the operator.
 */
import { readFile } from 'node:fs/promises';
import { hasCode } from './error-code.ts';

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'one this process may not read',
  EISDIR: 'a folder',
  ENOTDIR: 'one below something that is no folder',
  ELOOP: 'links that lead in a circle',
};

/** @returns undefined if there is no such file */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * @returns words that the file's name can follow
 * @throws the error itself, if it is not one of the operating system
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  return UNREADABLE[String(error.code)] ?? String(error.code);
}

/** A file's name, unless it is so long that it may be the secret itself, written in the wrong field. */
export function displayedFileName(name: string): string {
  const longest = Math.max(...name.split('/').map((part) => part.length));
  return longest > 40 ? '(a name too long to repeat; is it the secret itself?)' : name;
}

const NOT_WRITABLE: Readonly<Record<string, string>> = {
  EACCES: 'may not be written by this process',
  EPERM: 'may not be written by this process',
  EISDIR: 'is a folder',
  ENOENT: 'is in a folder that cannot be created',
  ENOTDIR: 'is below something that is no folder',
  EEXIST: 'is below something that is no folder',
  EROFS: 'is on a file system that can only be read',
  ENOSPC: 'is on a disk that is full',
  ENXIO: 'is no file that can be written',
  ELOOP: 'is a link that leads in a circle',
};

/** A file cannot be opened for writing. The message begins with the file's name. */
export class FileNotOpened extends Error {
  /** @param cause the operating system's error */
  constructor(file: string, cause: Error & { readonly code: unknown }) {
    const code = String(cause.code);
    super(`${file} ${NOT_WRITABLE[code] ?? `cannot be opened (${code})`}`, { cause });
  }
}
