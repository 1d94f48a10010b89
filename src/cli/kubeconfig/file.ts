/**
 * Reads and writes kubeconfig files as kubectl does: the same search order and lock, and replacement by
 * rename.
 * https://pkg.go.dev/k8s.io/client-go/tools/clientcmd#ModifyConfig
 */
import { open, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { hasCode } from '../../lib/error-code.ts';
import { readIfThere, reasonOf } from '../../lib/file-errors.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { replaceFile } from '../replace-file.ts';

/**
 * The kubeconfig files as kubectl finds them, in order of precedence: `--kubeconfig`, else those of
 * `KUBECONFIG`, else `~/.kube/config`. They need not exist.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
export function kubeconfigFiles(explicit: string | undefined, env: NodeJS.ProcessEnv): [string, ...string[]] {
  const named = explicit === undefined ? (env.KUBECONFIG ?? '').split(delimiter) : [explicit];
  const [first, ...more] = named.filter((name) => name !== '').map((name) => resolve(name));
  return [first ?? join(env.HOME ?? homedir(), '.kube', 'config'), ...more];
}

/**
 * @returns undefined if there is no such file
 * @throws Error if the file cannot be read
 */
export async function readKubeconfigFile(file: string): Promise<string | undefined> {
  try {
    return await readIfThere(file);
  } catch (error) {
    throw new Error(`the kubeconfig ${file}: ${reasonOf(error)}`);
  }
}

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
