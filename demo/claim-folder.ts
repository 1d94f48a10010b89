/** Allows one demo per folder: a second one would overwrite the configuration of the first. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * @returns releases the folder
 * @throws Error if another demo runs in the folder
 */
export async function claimFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'pid');
  const owner = await readPid(file);
  if (owner !== undefined && isRunning(owner))
    throw new Error(`a demo runs in ${folder} already, as process ${owner} (${file}); end it first`);
  await writeFile(file, String(process.pid));
  return () => rm(file, { force: true });
}

async function readPid(file: string): Promise<number | undefined> {
  try {
    return Number(await readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
