/** Allows one demo per folder: a second one would overwrite the configuration of the first. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../src/lib/error-code.ts';
import { readIfThere } from '../src/lib/file-errors.ts';
import { makeFolder } from '../src/lib/make-folder.ts';

/**
 * @returns releases the folder
 * @throws Error if another demo runs in the folder
 */
export async function claimFolder(folder: string): Promise<() => Promise<void>> {
  await makeFolder(folder);
  const file = join(folder, 'pid');
  const owner = await readIfThere(file);
  if (owner !== undefined && isRunning(Number(owner)))
    throw new Error(`a demo runs in ${folder} already, as process ${owner} (${file}); end it first`);
  await writeFile(file, String(process.pid));
  return () => rm(file, { force: true });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}
