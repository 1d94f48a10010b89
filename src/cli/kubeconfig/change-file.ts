/**
 * Changes a kubeconfig file as kubectl does: with the same lock, and replacement by rename.
 * https://pkg.go.dev/k8s.io/client-go/tools/clientcmd#ModifyConfig
 */
import { open, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '../../lib/error-code.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { replaceFile } from '../replace-file.ts';
import { readKubeconfigFile } from './file.ts';

/** The file that gets new entries: the first existing one, else the last. */
export async function fileToChange(files: readonly [string, ...string[]]): Promise<string> {
  for (const file of files) if ((await readKubeconfigFile(file)) !== undefined) return file;
  return files.at(-1) ?? files[0];
}

/**
 * @param change receives the text; undefined if there is no file
 * @throws Error if another process is changing it
 */
export async function changeFile(file: string, change: (text: string | undefined) => string): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  const target = await realpath(file).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return file;
    throw error;
  });
  const locks: string[] = [];
  try {
    // kubectl locks the name that it is given, which may be the link or its target.
    for (const name of new Set([file, target])) locks.push(await takeLock(`${name}.lock`));
    await replaceFile(target, change(await readKubeconfigFile(target)));
  } finally {
    await Promise.all(locks.map((lock) => rm(lock, { force: true })));
  }
}

async function takeLock(lock: string): Promise<string> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
    return lock;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    throw new Error(`${lock} exists: another process is changing the kubeconfig. If none is, remove it`);
  }
}
