/**
 * Whether the cloud that a login names is there, found out before kubectl does: looked for where kubectl's login will look,
 * which is not the working folder. A kubeconfig may be for another machine, so that where there is no clouds.yaml at all
 * nothing is refused.
 */
import { readClouds } from '../login/clouds-yaml.ts';
import { KubeconfigError } from './document.ts';

export interface CloudCheckOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative names begin. */
  readonly folder: string;
}

/**
 * @param name of the cloud
 * @returns a sentence for the person where nobody can tell; undefined where the cloud is there
 * @throws KubeconfigError where it is not, with those that are
 * @throws LoginError where the files of clouds cannot be understood
 */
export async function checkCloud(
  name: string,
  { env, folder }: CloudCheckOptions,
): Promise<string | undefined> {
  const asForKubectl = { ...env, KUBERNETES_EXEC_INFO: '{}' };
  const { clouds, found, place } = await readClouds({ env: asForKubectl, folder });
  if (Object.hasOwn(clouds, name)) return undefined;
  const cloud = JSON.stringify(name);
  if (!found) return `the cloud ${cloud} is not checked: no ${place}; where kubectl runs there must be one`;
  const there = Object.keys(clouds).join(', ') || 'none';
  throw new KubeconfigError(
    `no cloud ${cloud} in ${place}; there is ${there}. For another machine, where it is: --force`,
  );
}
