/**
 * Changes a kubeconfig as kubectl does: under the lock that kubectl itself takes, then written beside and renamed
 * over, so that nobody reads half of it and nothing is lost where the disk is full. A link stays a link.
 * https://pkg.go.dev/k8s.io/client-go/tools/clientcmd#ModifyConfig
 */
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Random } from '../../lib/random.ts';
import { KubeconfigError } from './document.ts';
import { readIfThere } from './files.ts';

/**
 * @param change of the file's text; undefined where there is none
 * @throws KubeconfigError where somebody else is changing it
 */
export async function changeFile(
  file: string,
  change: (text: string | undefined) => string,
  random: Random,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const target = await followLink(file);
  // kubectl locks the link, and who names the file itself locks that.
  await locked([...new Set([file, target])], async () => {
    await replace(target, change(await readIfThere(target)), random);
  });
}

async function locked([file, ...more]: readonly string[], work: () => Promise<void>): Promise<void> {
  if (file === undefined) return work();
  const lock = `${file}.lock`;
  await takeLock(lock);
  try {
    await locked(more, work);
  } finally {
    await rm(lock, { force: true });
  }
}

async function followLink(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return file;
    throw error;
  }
}

async function takeLock(lock: string): Promise<void> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new KubeconfigError(
      `${lock} exists: somebody else is changing the kubeconfig. If nobody is, remove it`,
    );
  }
}

async function replace(target: string, text: string, random: Random): Promise<void> {
  const next = join(dirname(target), `.${basename(target)}.${random.bytes(6).toString('hex')}`);
  try {
    const handle = await open(next, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, target);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
