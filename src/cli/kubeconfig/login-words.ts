/**
 * The words behind `--`: the options of the `stonegate login` that kubectl will run. They are read as the login itself
 * reads them, so that what it would refuse is refused before a context stands on it. What its variables and clouds.yaml
 * say is not looked at: they are those of the machine where kubectl runs.
 */
import { resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { LoginError } from '../login/credential-source.ts';
import { loginFlags } from '../login/flags.ts';
import { assertFlagsUsable, keystoneFlags } from '../login/keystone-source.ts';
import { oidcFlags, readOidcFlags } from '../login/oidc-flags.ts';
import { UsageError } from '../usage.ts';

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
