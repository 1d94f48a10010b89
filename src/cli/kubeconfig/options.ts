/**
 * Checks the options of `stonegate kubeconfig` and of the `stonegate login` that kubectl will run. kubectl
 * accepts almost any value and fails at the first request, so each invalid value is refused here. Variables
 * and clouds.yaml are not read for the login: they belong to the machine on which kubectl runs.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { kubeconfigName } from '../../kubernetes/kubeconfig-v1.ts';
import { labelProblem } from '../../kubernetes/reserved-names.ts';
import { refuseWords, UsageError } from '../command.ts';
import { readClouds } from '../login/clouds-yaml.ts';
import { LoginError } from '../login/credential-source.ts';
import { assertFlagsUsable } from '../login/keystone-source.ts';
import { LOGIN_OPTIONS, wayOf } from '../login/login-options.ts';
import { readOidcFlags } from '../login/oidc-source.ts';

/**
 * Stonegate serves at the root only, because it rewrites whole paths; `--tenant` adds the prefix of a tenant.
 *
 * @throws UsageError without the text, which may contain a password
 */
export function readServer(text: string | undefined): URL {
  if (text === undefined) throw new UsageError('--server URL is required');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:')
    throw new UsageError('--server wants an https address: kubectl sends no token to another');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--server wants an https address without a user: who one is the login says');
  if (url.pathname !== '/' || /[?#]/.test(text))
    throw new UsageError(
      '--server wants an address without a path, query and fragment: Stonegate serves at its root, and --tenant adds the prefix of a tenant',
    );
  return url;
}

/** @throws UsageError if it cannot be the name of a namespace or a tenant */
export function assertLabel(option: string, name: string | undefined): void {
  const problem = name === undefined ? undefined : labelProblem(name);
  if (problem !== undefined) throw new UsageError(`${option}: ${JSON.stringify(name)} ${problem}`);
}

/**
 * @param name as given
 * @param server whose host name is the default, with the tenant
 * @throws UsageError for a name that is not of letters, digits and dashes
 */
export function readName(name: string | undefined, server: URL, tenant = ''): string {
  if (name !== undefined && /^[a-z0-9-]*$/i.test(name) && /[a-z0-9]/i.test(name)) return name;
  const plain = name === undefined ? kubeconfigName(server.hostname, tenant) : kubeconfigName(name);
  if (name === undefined && plain !== '') return plain;
  const instead = plain === '' ? '' : `, such as ${plain}`;
  throw new UsageError(
    `--name wants letters, digits and dashes${instead}: kubectl config takes a dot for its end`,
  );
}

/**
 * @returns the names and ids between the commas
 * @throws UsageError if the list is empty
 */
export function readProjects(list: string): readonly string[] {
  const words = list.split(',').filter((word) => word !== '');
  if (words.length === 0) throw new UsageError('--projects wants "all", or names or ids with commas between');
  return words;
}

export interface LoginArguments {
  /** The arguments of `stonegate`, with absolute file names. */
  readonly args: readonly string[];
  readonly way: 'keystone' | 'oidc';
  /** The value of `--os-cloud`. */
  readonly cloud: string | undefined;
}

export interface LoginArgumentsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The base of relative names. */
  readonly folder: string;
}

const SECRET = /^--os-(?:password|token|application-credential-secret)(?:=|$)/;
/** Options whose values are made absolute, because kubectl runs the plugin in its own working directory. */
const NAMES_A_FILE: ReadonlySet<string> = new Set([
  '--os-cacert',
  '--ca-file',
  '--client-secret-file',
  '--cache-dir',
]);

/** @throws UsageError if the login would refuse the arguments on any machine, or if they contain a secret */
export function readLoginArguments(
  words: readonly string[],
  { env, folder }: LoginArgumentsOptions,
): LoginArguments {
  if (words.length === 0) throw new UsageError('how to log in? -- --keystone … or -- --oidc … at the end');
  const secret = words.find((word) => SECRET.test(word));
  if (secret !== undefined)
    throw new UsageError(`${secret.split('=', 1)[0]} is a secret and is not written into a kubeconfig`);
  const args = ['login', ...words.map((word, at) => findable(word, words[at - 1], folder))];
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: LOGIN_OPTIONS,
      allowPositionals: true,
    });
    refuseWords(words.includes('--') ? ['--'] : positionals);
    const way = wayOf(values);
    if (way === 'oidc') readOidcFlags(values, env);
    else assertFlagsUsable(values);
    return { args, way, cloud: values['os-cloud'] || undefined };
  } catch (error) {
    if (error instanceof LoginError) throw new UsageError(error.message);
    if (!(error instanceof TypeError)) throw error;
    // Node's advice to add another "--" does not apply.
    throw new UsageError(`the login behind "--": ${error.message.split('. ', 1)[0]}`);
  }
}

function findable(word: string, before: string | undefined, folder: string): string {
  if (before !== undefined && NAMES_A_FILE.has(before)) return absolute(folder, word);
  const [flag = '', ...value] = word.split('=');
  return value.length > 0 && NAMES_A_FILE.has(flag) ? `${flag}=${absolute(folder, value.join('='))}` : word;
}

/** Shells do not expand the `~/` of `--ca-file=~/ca.crt`; `stonegate login` does. */
function absolute(folder: string, file: string): string {
  return file.startsWith('~/') ? file : resolve(folder, file);
}

/**
 * Searches the directories that kubectl's login will search, not the working directory. A kubeconfig may be
 * for another machine, so a missing clouds.yaml is not an error.
 *
 * @param name of the cloud
 * @returns a sentence for the user if there is no clouds.yaml; undefined if the cloud exists
 * @throws LoginError if a file is invalid, or if the cloud does not exist; lists those that do
 */
export async function checkCloud(
  name: string,
  { env, folder }: LoginArgumentsOptions,
): Promise<string | undefined> {
  const { clouds, found, place } = await readClouds({
    env: { ...env, KUBERNETES_EXEC_INFO: '{}' },
    folder,
  });
  if (Object.hasOwn(clouds, name)) return undefined;
  const cloud = JSON.stringify(name);
  if (!found) return `the cloud ${cloud} is not checked: no ${place}; where kubectl runs there must be one`;
  const there = Object.keys(clouds).join(', ') || 'none';
  throw new LoginError(
    `no cloud ${cloud} in ${place}; there is ${there}. For another machine, where it is: --force`,
  );
}
