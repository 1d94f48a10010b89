/**
 * `stonegate logout`: forgets cached tokens, and ends the session at the provider that the options name.
 */
import { columns, createCommand } from './command.ts';
import { withCachedLogin } from './login/cached-login.ts';
import { LOGIN_OPTIONS } from './login/login-options.ts';
import { cacheFolder, forgetAll } from './login/token-cache.ts';

const USAGE = `Usage: stonegate logout [LOGIN-OPTIONS]

Forgets the token that "stonegate login LOGIN-OPTIONS" has cached, and ends it
at the provider: Keystone revokes the token; an OpenID provider revokes the
refresh token, if it can, and the ID token stays valid until it expires. Without
options all cached tokens are forgotten, and no provider is asked.

  --cache-dir DIR            where tokens are cached; without it stonegate in
                             XDG_CACHE_HOME or ~/.cache
  --help                     this text

LOGIN-OPTIONS begin with --keystone or --oidc: see stonegate login --help.
Exit codes: 0 forgotten, 1 not forgotten or not ended, 2 wrong usage.
`;

export const logout = createCommand(
  { usage: USAGE, options: LOGIN_OPTIONS },
  async ({ values, argv, io }) => {
    const { 'cache-dir': folder, ...others } = values;
    if (Object.keys(others).length === 0) {
      const count = await forgetAll(cacheFolder(folder, process.env));
      io.stdout(`${count} cached ${count === 1 ? 'token' : 'tokens'} forgotten\n`);
      return;
    }
    await withCachedLogin(argv, values, true, async ({ source, cache, terminal }) => {
      const cached = await cache.read();
      if (cached === undefined) {
        io.stdout('no cached token\n');
        return;
      }
      // First, so that it is forgotten even if the provider cannot be asked.
      await cache.remove();
      const { holder = 'an unknown user', expiresAt } = cached;
      const isRevoked = await source.revoke(terminal, cached);
      const until = isRevoked ? '' : `; the token stays valid until ${new Date(expiresAt).toISOString()}`;
      io.stdout(columns([[`logged out: ${holder}${until}`]]));
    });
  },
);
