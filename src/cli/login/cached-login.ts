/**
 * What `stonegate login` and `stonegate logout` share: the way to log in that the options name, its cached
 * token and the terminal. Modules that a cached token does not need are imported on demand.
 */
import { systemClock } from '../../lib/clock.ts';
import { type CredentialSource, LoginError, type Terminal } from './credential-source.ts';
import { type KeystoneValues, type OidcValues, wayOf } from './login-options.ts';
import { createTerminal, typed } from './terminal.ts';
import { cacheFolder, openTokenCache, type TokenCache } from './token-cache.ts';

export interface CachedLogin {
  readonly source: CredentialSource;
  readonly cache: TokenCache;
  readonly terminal: Terminal;
}

/**
 * Ctrl-C ends the work.
 *
 * @param argv the options as they were typed
 * @param mayAsk whether kubectl allows questions
 */
export async function withCachedLogin<T>(
  argv: readonly string[],
  values: KeystoneValues & OidcValues & { readonly 'cache-dir'?: string | undefined },
  mayAsk: boolean,
  run: (login: CachedLogin) => Promise<T>,
): Promise<T> {
  const way = wayOf(values);
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const interrupt = () => interrupted.abort(new LoginError('interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const { stdin, stderr, env } = process;
    const command = typed(argv);
    const terminal = createTerminal({ stdin, stderr, mayAsk, command, env, clock: systemClock, signal });
    const source = await createSource(way, values);
    const cache = await openTokenCache(cacheFolder(values['cache-dir'], env), source.identity);
    return await run({ source, cache, terminal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

async function createSource(
  way: 'keystone' | 'oidc',
  values: KeystoneValues & OidcValues,
): Promise<CredentialSource> {
  const { env } = process;
  if (way === 'oidc') return (await import('./oidc-source.ts')).createOidcSource(values, env);
  const { createKeystoneSource } = await import('./keystone-source.ts');
  return createKeystoneSource({ values, env, folder: process.cwd() });
}
