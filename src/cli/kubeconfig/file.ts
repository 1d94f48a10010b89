/**
 * Finds and reads kubeconfig files in the order in which kubectl does.
 */
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { readIfThere, reasonOf } from '../../lib/file-errors.ts';

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
