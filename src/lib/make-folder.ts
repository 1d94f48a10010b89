/**
 * Makes a folder and the folders above it. Node's `mkdir` with `recursive` repeats for ever where none can be
 * made although the one above is there, as in `/proc`.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './error-code.ts';

/**
 * @param mode of each folder that is made
 * @throws Error of the operating system, also if there is a file of this name
 */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await isFolder(folder))) return;
    const above = dirname(folder);
    if (!hasCode(error, 'ENOENT') || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(folder, mode);
  }
}

async function isFolder(name: string): Promise<boolean> {
  try {
    return (await stat(name)).isDirectory();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
