/**
 * What the options of `stonegate kubeconfig` may be. kubectl takes nearly anything and fails at the first request, so that
 * each is refused here with a sentence.
 */

import { resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { labelProblem } from '../../api/reserved-names.ts';
import { UsageError } from '../command.ts';
import { readClouds } from '../login/clouds-yaml.ts';
import { LoginError } from '../login/credential-source.ts';
import { assertFlagsUsable, keystoneFlags } from '../login/keystone-source.ts';
import { oidcFlags, readOidcFlags } from '../login/oidc-source.ts';
import { loginFlags } from '../login.ts';
import { nameOf } from './entries.ts';
import { KubeconfigError } from './file.ts';

/**
 * Stonegate serves at the root alone: whole paths are what it rewrites.
 *
 * @throws UsageError that does not show the text, in which a password may stand
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
      '--server wants an address without a path, query and fragment: Stonegate serves at its root',
    );
  return url;
}

/** @throws UsageError where it can be no namespace's name */
export function readNamespace(name: string | undefined): string | undefined {
  const problem = name === undefined ? undefined : labelProblem(name);
  if (problem !== undefined) throw new UsageError(`--namespace: ${JSON.stringify(name)} ${problem}`);
  return name;
}

/**
 * @param name as it is given
 * @param server whose host's name is taken without one
 * @throws UsageError for a name that is not of letters, digits and dashes
 */
export function readName(name: string | undefined, server: URL): string {
  if (name !== undefined && /^[a-z0-9-]*$/i.test(name) && /[a-z0-9]/i.test(name)) return name;
  const plain = nameOf(name ?? server.hostname);
  if (name === undefined && plain !== '') return plain;
  const instead = plain === '' ? '' : `, such as ${plain}`;
  throw new UsageError(
    `--name wants letters, digits and dashes${instead}: kubectl config takes a dot for its end`,
  );
}

/**
 * @returns the names and ids between the commas
 * @throws UsageError where there is none
 */
export function readProjects(list: string): readonly string[] {
  const words = list.split(',').filter((word) => word !== '');
  if (words.length === 0) throw new UsageError('--projects wants "all", or names or ids with commas between');
  return words;
}

// FROM src/cli/kubeconfig/login-words.ts
/*!
 * The words behind `--`: the options of the `stonegate login` that kubectl will run. They are read as the login itself
 * reads them, so that what it would refuse is refused before a context stands on it. What its variables and clouds.yaml
 * say is not looked at: they are those of the machine where kubectl runs.
 */

export interface LoginWords {
  /** What follows `stonegate`, with files that are found from everywhere. */
  readonly args: readonly string[];
  readonly way: 'keystone' | 'oidc';
  /** As `--os-cloud` names it. */
  readonly cloud: string | undefined;
}

export interface LoginWordsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative names begin. */
  readonly folder: string;
}

const SECRET = /^--os-(?:password|token|application-credential-secret)(?:=|$)/;
/** kubectl runs the plugin wherever it is itself run. */
const NAMES_A_FILE: ReadonlySet<string> = new Set([
  '--os-cacert',
  '--ca-file',
  '--client-secret-file',
  '--cache-dir',
]);

/** @throws UsageError where the login would refuse them, whatever machine it runs on, or where they hold a secret */
export function readLoginWords(words: readonly string[], { env, folder }: LoginWordsOptions): LoginWords {
  if (words.includes('--keystone') === words.includes('--oidc'))
    throw new UsageError('how to log in? -- --keystone … or -- --oidc … at the end');
  const secret = words.find((word) => SECRET.test(word));
  if (secret !== undefined)
    throw new UsageError(`${optionOf(secret)} is a secret and is not written into a kubeconfig`);
  const args = ['login', ...words.map((word, at) => findable(word, words[at - 1], folder))];
  if (words.includes('--keystone')) return { args, way: 'keystone', cloud: readKeystoneWords(words) };
  readOidcFlags(parse(words, { ...loginFlags, ...oidcFlags }), env);
  return { args, way: 'oidc', cloud: undefined };
}

/** Without the value of `--option=value`, which may be a secret. */
export function optionOf(word: string): string {
  return word.split('=', 1)[0] ?? '';
}

/** @returns the cloud that is named */
function readKeystoneWords(words: readonly string[]): string | undefined {
  const values = parse(words, { ...loginFlags, ...keystoneFlags });
  try {
    assertFlagsUsable(values);
  } catch (error) {
    throw error instanceof LoginError ? new UsageError(error.message) : error;
  }
  return values['os-cloud'] || undefined;
}

function parse<const Options extends NonNullable<ParseArgsConfig['options']>>(
  words: readonly string[],
  options: Options,
) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [unexpected] = words.includes('--') ? ['--'] : positionals;
    if (unexpected !== undefined) throw new UsageError(`unexpected ${JSON.stringify(unexpected)}`);
    return values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Node's advice behind it, another "--", helps nobody here.
    throw new UsageError(`the login behind "--": ${error.message.split('. ', 1)[0]}`);
  }
}

function findable(word: string, before: string | undefined, folder: string): string {
  if (before !== undefined && NAMES_A_FILE.has(before)) return absolute(folder, word);
  const [flag = '', ...value] = word.split('=');
  return value.length > 0 && NAMES_A_FILE.has(flag) ? `${flag}=${absolute(folder, value.join('='))}` : word;
}

/** Shells leave the `~/` of `--ca-file=~/ca.crt` as it is; `stonegate login` knows it. */
function absolute(folder: string, file: string): string {
  return file.startsWith('~/') ? file : resolve(folder, file);
}

// FROM src/cli/kubeconfig/cloud.ts
/*!
 * Whether the cloud that a login names is there, found out before kubectl does: looked for where kubectl's login will look,
 * which is not the working folder. A kubeconfig may be for another machine, so that where there is no clouds.yaml at all
 * nothing is refused.
 */

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
