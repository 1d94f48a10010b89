/**
 * Logs in to Keystone with the settings that OpenStack users have: a cloud of `clouds.yaml`, `OS_*`
 * variables, flags. Secrets come from files, variables or the terminal, never from the command line.
 */
import { hash } from 'node:crypto';
import { UsageError } from '../command.ts';
import { absoluteName } from '../given-file.ts';
import { readCloud } from './clouds-yaml.ts';
import type { CredentialSource } from './credential-source.ts';
import {
  assertUsable,
  isSameKeystone,
  type KeystonePlan,
  overlay,
  planLogin,
  type Settings,
} from './keystone-settings.ts';
import { KEYSTONE_SECRETS, KEYSTONE_SETTINGS, type KeystoneValues, variableOf } from './login-options.ts';

/** Also older spellings that are still in use in `openrc` files. */
const VARIABLES = [
  ...KEYSTONE_SETTINGS,
  ...KEYSTONE_SECRETS,
  ...['insecure', 'auth-plugin', 'tenant-id', 'tenant-name'],
  ...['default-domain', 'default-domain-id', 'default-domain-name'],
];

export interface KeystoneSourceOptions {
  readonly values: KeystoneValues;
  readonly env: NodeJS.ProcessEnv;
  /** The base of relative names. */
  readonly folder: string;
}

/**
 * @throws LoginError if the settings are incomplete or invalid
 * @throws UsageError for a secret on the command line
 */
export async function createKeystoneSource(options: KeystoneSourceOptions): Promise<CredentialSource> {
  const plan = await planKeystoneLogin(options);
  return {
    identity: identityOf(plan),
    async obtain(terminal) {
      const { logInAtKeystone } = await import('./keystone-exchange.ts');
      return logInAtKeystone(plan, terminal);
    },
    async revoke({ clock }, { token }) {
      const { withKeystone } = await import('./keystone-exchange.ts');
      const { revokeToken } = await import('../../identity/keystone/keystone-login.ts');
      return withKeystone(plan, clock, (http) => revokeToken(http, token));
    },
  };
}

/**
 * The login request, without sending it.
 *
 * @throws LoginError if the settings are incomplete or invalid
 * @throws UsageError for a secret on the command line
 */
export async function planKeystoneLogin(options: KeystoneSourceOptions): Promise<KeystonePlan> {
  refuseSecrets(options.values);
  const plan = planLogin(await gather(options));
  if (plan.caFile === undefined) return plan;
  return { ...plan, caFile: absoluteName(plan.caFile, options.env, options.folder) };
}

function refuseSecrets(values: KeystoneValues): void {
  const secret = KEYSTONE_SECRETS.find((word) => values[`os-${word}`] !== undefined);
  if (secret !== undefined) {
    throw new UsageError(
      `--os-${secret} is not accepted, because every user of this machine can read a command line: use ${variableOf(secret)}`,
    );
  }
}

/**
 * Refuses flags that no cloud and no variable could make valid; the login may run on another machine.
 *
 * @throws LoginError
 * @throws UsageError for a secret on the command line
 */
export function assertFlagsUsable(values: KeystoneValues): void {
  refuseSecrets(values);
  assertUsable(overlay([settingsOf(values)]));
}

/**
 * The named cloud, else the variables, else the only cloud; flags override all. Variables, and the cloud that
 * they name, do not count if they are for another Keystone than `--os-auth-url`: their secrets must not go
 * there, since a server may have chosen the address (`stonegate kubeconfig`).
 */
async function gather(options: KeystoneSourceOptions): Promise<Settings> {
  const { values, env } = options;
  const flags = settingsOf(values);
  const isElsewhere = ({ auth_url: url = '' }: Settings) =>
    url !== '' && flags.auth_url !== undefined && !isSameKeystone(url, flags.auth_url);
  const all = pick(VARIABLES, (word) => env[variableOf(word)]);
  const variables = isElsewhere(all) ? {} : all;
  const { 'os-cloud': name = env.OS_CLOUD } = values;
  const named = typeof name === 'string' && name !== '' ? name : undefined;
  const address = flags.auth_url ?? variables.auth_url;
  const cloud = named === undefined && address !== undefined ? {} : ((await readCloud(named, options)) ?? {});
  const counts = values['os-cloud'] !== undefined || !isElsewhere(cloud);
  return overlay([counts ? cloud : {}, variables, flags]);
}

function settingsOf(values: KeystoneValues): Settings {
  return {
    ...pick(KEYSTONE_SETTINGS, (word) => values[`os-${word}`]),
    ...(values.unscoped === true && { unscoped: 'true' }),
  };
}

function pick(words: readonly string[], lookUp: (word: string) => unknown): Record<string, string> {
  return Object.fromEntries(
    words.flatMap((word) => {
      const value = lookUp(word);
      return typeof value === 'string' ? [[word.replaceAll('-', '_'), value]] : [];
    }),
  );
}

/** A token is identified by its digest, which is not secret. */
function identityOf({ url, proof, scope }: KeystonePlan): string[] {
  const { secret, ...who } = proof;
  const digest = proof.method === 'token' ? hash('sha256', proof.secret) : '';
  return ['keystone', url, JSON.stringify(who), digest, JSON.stringify(scope ?? null)];
}
