/**
 * Checks the options of `stonegate kubeconfig` and of the `stonegate login` that kubectl will run. kubectl
 * accepts almost any value and fails at the first request, so each invalid value is refused here. Variables
 * and clouds.yaml are not read for the login: they belong to the machine on which kubectl runs.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { kubeconfigName } from '../../kubernetes/kubeconfig-v1.ts';
import { labelProblem } from '../../kubernetes/reserved-names.ts';
import { textOfDataURL } from '../../lib/data-url.ts';
import { mistakeIn, refuseWords, UsageError } from '../command.ts';
import { readClouds } from '../login/clouds-yaml.ts';
import { LoginError } from '../login/credential-source.ts';
import { assertFlagsUsable } from '../login/keystone-source.ts';
import { type KeystoneValues, LOGIN_OPTIONS, wayOf } from '../login/login-options.ts';
import { readOidcFlags } from '../login/oidc-settings.ts';

/**
 * Stonegate serves at the root only, because it rewrites whole paths; `--tenant` adds the prefix of a tenant.
 *
 * @throws UsageError without the text, which may contain a password
 */
export function readServer(text: string | undefined): URL {
  if (text === undefined) throw new UsageError('--server URL is required');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url?.username === '' && url.password === '' && url.pathname === '/' && !/[?#]/.test(text);
  if (url?.protocol === 'https:' && plain) return url;
  const meant = `https://${text.replace(/^http:\/\//, '')}`;
  if (URL.canParse(meant) && new URL(meant).origin === meant.replace(/\/$/, ''))
    throw new UsageError(`--server must be an https address: did you mean ${meant}?`);
  throw new UsageError(
    '--server must be an https address without user, path, query and fragment: the login says who one is, and --tenant adds the prefix of a tenant',
  );
}

/** @throws UsageError if it cannot be the name of a namespace or a tenant */
export function assertLabel(option: string, name: string | undefined): void {
  const problem = name === undefined ? undefined : labelProblem(name);
  if (problem !== undefined) throw new UsageError(`${option}: ${JSON.stringify(name)} ${problem}`);
}

/**
 * @param name as given; without it the server's host name and the tenant
 * @throws UsageError for a name that is not of letters, digits and dashes
 */
export function readName(name: string | undefined, server: URL, tenant = ''): string {
  const chosen = name ?? kubeconfigName(server.hostname, tenant);
  if (/^[a-z0-9-]*$/i.test(chosen) && /[a-z0-9]/i.test(chosen)) return chosen;
  throw new UsageError(
    '--name must be of letters, digits and dashes: kubectl config reads a dot as a separator',
  );
}

/**
 * @param text SHA-256 of the certificate's DER, with or without colons, as OpenSSL prints it
 * @throws UsageError
 */
export function readFingerprint(text: string | undefined): string | undefined {
  const digits = text?.replaceAll(':', '').toLowerCase();
  if (digits === undefined || /^[0-9a-f]{64}$/.test(digits)) return digits;
  throw new UsageError('--ca-fingerprint must be the SHA-256 of a certificate: 64 hexadecimal digits');
}

/**
 * @returns the names and ids between the commas
 * @throws UsageError if the list is empty
 */
export function readProjects(list: string): readonly string[] {
  const words = list.split(',').filter((word) => word !== '');
  if (words.length === 0)
    throw new UsageError('--projects must be "all", or names or ids with commas between');
  return words;
}

export interface LoginArguments {
  /** The arguments of `stonegate`, with absolute file names. */
  readonly args: readonly string[];
  readonly way: 'keystone' | 'oidc';
  readonly values: KeystoneValues;
}

export interface LoginArgumentsOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The base of relative names. */
  readonly folder: string;
}

/** Options whose values are made absolute, because kubectl runs the plugin in its own working directory. */
const NAMES_A_FILE: ReadonlySet<string> = new Set([
  'os-cacert',
  'ca-file',
  'client-secret-file',
  'cache-dir',
]);

/** @throws UsageError if the login would refuse the arguments on any machine, or if they contain a secret */
export function readLoginArguments(
  words: readonly string[],
  { env, folder }: LoginArgumentsOptions,
): LoginArguments {
  if (words.length === 0) throw new UsageError('how to log in? -- --keystone … or -- --oidc … at the end');
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...words],
      options: LOGIN_OPTIONS,
      allowPositionals: true,
      tokens: true,
    });
    refuseWords(words.includes('--') ? ['--'] : positionals);
    const way = wayOf(values);
    if (way === 'oidc') readOidcFlags(values, env);
    else assertFlagsUsable(values);
    const args = tokens.flatMap((token) => {
      if (token.kind !== 'option') return [];
      if (token.value === undefined) return [token.rawName];
      const value = NAMES_A_FILE.has(token.name) ? absolute(folder, token.value) : token.value;
      return token.inlineValue ? [`${token.rawName}=${value}`] : [token.rawName, value];
    });
    return { args: ['login', ...args], way, values };
  } catch (error) {
    if (error instanceof LoginError) throw new UsageError(error.message);
    if (error instanceof TypeError) throw new UsageError(`the login behind "--": ${mistakeIn(error)}`);
    throw error;
  }
}

/** The login expands the `~/` of `--ca-file=~/ca.crt`, which shells do not. A `data:` URL names no file. */
function absolute(folder: string, file: string): string {
  return file.startsWith('~/') || textOfDataURL(file) !== undefined ? file : resolve(folder, file);
}

/**
 * Searches the directories that kubectl's login will search, not the working directory. A kubeconfig may be
 * for another machine, so a missing clouds.yaml is not an error.
 *
 * @param cloud the value of `--os-cloud`
 * @returns a remark if there is no clouds.yaml
 * @throws LoginError if a file is invalid, or if the cloud does not exist; lists those that do
 */
export async function checkCloud(
  cloud: unknown,
  { env, folder }: LoginArgumentsOptions,
): Promise<string | undefined> {
  if (typeof cloud !== 'string' || cloud === '') return undefined;
  const { clouds, found, place } = await readClouds({
    env: { ...env, KUBERNETES_EXEC_INFO: '{}' },
    folder,
  });
  if (Object.hasOwn(clouds, cloud)) return undefined;
  const name = JSON.stringify(cloud);
  if (!found) return `the cloud ${name} is not checked: no ${place}; where kubectl runs there must be one`;
  const there = Object.keys(clouds).join(', ') || 'none';
  throw new LoginError(
    `no cloud ${name} in ${place}; there is ${there}. For another machine, where it is: --force`,
  );
}
