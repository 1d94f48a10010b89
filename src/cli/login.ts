/**
 * `stonegate login`: the credential plugin that kubectl runs before each call. Standard output has one
 * ExecCredential or nothing; messages go to standard error. Modules that a cached token does not need are
 * imported on demand.
 */
import { systemClock } from '../lib/clock.ts';
import { type CommandIO, refuseWords, runCommand } from './command.ts';
import { obtainCredential } from './login/credential.ts';
import { type CredentialSource, LoginError } from './login/credential-source.ts';
import { readExecInfo, writeExecCredential } from './login/exec-credential.ts';
import {
  type KeystoneValues,
  LOGIN_OPTIONS,
  LOGIN_USAGE,
  type OidcValues,
  wayOf,
} from './login/login-options.ts';
import { createTerminal, typed } from './login/terminal.ts';
import { cacheFolder, openTokenCache, renewAt } from './login/token-cache.ts';

/** @param argv what follows `login` */
export function login(argv: readonly string[], io: CommandIO): Promise<number> {
  return runCommand({ usage: LOGIN_USAGE, options: LOGIN_OPTIONS, argv, io }, async (values, words) => {
    refuseWords(words);
    const way = wayOf(values);
    const interrupted = new AbortController();
    const { signal } = interrupted;
    const interrupt = () => interrupted.abort(new LoginError('interrupted'));
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    try {
      const { stdin, stderr, env } = process;
      const { apiVersion, mayAsk } = readExecInfo(env.KUBERNETES_EXEC_INFO);
      const command = typed(argv);
      const terminal = createTerminal({ stdin, stderr, mayAsk, command, env, clock: systemClock, signal });
      const source = await createSource(way, values);
      const cache = await openTokenCache(cacheFolder(values['cache-dir'], env), source.identity);
      const caller = env.KUBERNETES_EXEC_INFO === undefined ? undefined : String(process.ppid);
      const { force = false } = values;
      const credential = await obtainCredential({ source, cache, terminal, force, caller });
      // kubectl runs the plugin again when the cache renews the token, not when the token expires during a
      // request.
      const renewal = renewAt(credential);
      const expiresAt = systemClock.now() < renewal ? renewal : credential.expiresAt;
      io.stdout(writeExecCredential(apiVersion, { token: credential.token, expiresAt }));
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    }
  });
}

async function createSource(
  way: 'keystone' | 'oidc',
  values: KeystoneValues & OidcValues,
): Promise<CredentialSource> {
  const { env } = process;
  if (way === 'oidc') return (await import('./login/oidc-source.ts')).createOidcSource(values, env);
  const { createKeystoneSource } = await import('./login/keystone-source.ts');
  return createKeystoneSource({ values, env, folder: process.cwd() });
}
