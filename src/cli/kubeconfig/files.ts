/**
 * Which kubeconfig files count, as kubectl sees it: the one of `--kubeconfig` alone, else those of `KUBECONFIG`, else
 * `~/.kube/config`.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { reasonOf } from '../../lib/file-errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** In the order of their weight; they need not exist. */
export function kubeconfigFiles(explicit: string | undefined, env: Environment): [string, ...string[]] {
  if (explicit !== undefined) return [resolve(explicit)];
  const [first, ...more] = (env.KUBECONFIG ?? '').split(delimiter).filter((name) => name !== '');
  if (first !== undefined) return [resolve(first), ...more.map((name) => resolve(name))];
  return [join(env.HOME ?? homedir(), '.kube', 'config')];
}

/**
 * @returns undefined where there is no such file
 * @throws Error for one that cannot be read
 */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`the kubeconfig ${file}: ${reasonOf(error)}`);
  }
}

/** The one that gets what is new: the first that is there, or the last of those that are not. */
export async function fileToChange(files: readonly [string, ...string[]]): Promise<string> {
  for (const file of files) if ((await readIfThere(file)) !== undefined) return file;
  return files.at(-1) ?? files[0];
}
