/**
 * Whether the cloud that a login names is there, found out before kubectl does: looked for where kubectl's login will look,
 * which is not the working folder. A kubeconfig may be for another machine, so that where there is no clouds.yaml at all
 * nothing is refused.
 */
import { parseArgs } from 'node:util';
import { readClouds } from '../login/clouds-yaml.ts';
import { keystoneFlags } from '../login/keystone-source.ts';
import { KubeconfigError } from './document.ts';

export interface CloudCheckOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative names begin. */
  readonly folder: string;
}

/**
 * @param login what follows `stonegate login`
 * @returns a sentence for the person where nobody can tell; undefined where the cloud is there, or none is named
 * @throws KubeconfigError where it is not, with those that are
 * @throws LoginError where the files of clouds cannot be understood
 */
export async function checkCloud(
  login: readonly string[],
  { env, folder }: CloudCheckOptions,
): Promise<string | undefined> {
  const name = cloudNamedIn(login);
  if (name === undefined) return undefined;
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

function cloudNamedIn(login: readonly string[]): string | undefined {
  if (!login.includes('--keystone')) return undefined;
  const options = { ...keystoneFlags, keystone: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...login], options, strict: false, allowPositionals: true });
  const name = values['os-cloud'];
  return typeof name === 'string' && name !== '' ? name : undefined;
}
