/**
 * `stonegate login`: the credential plugin that kubectl runs before each call. Standard output has one
 * ExecCredential or nothing; messages go to standard error. Modules that a cached token does not need are
 * imported on demand.
 */
import { type Clock, systemClock } from '../lib/clock.ts';
import { type CommandIO, EXIT, runCommand, UsageError } from './command.ts';
import { obtainCredential } from './login/credential.ts';
import { type CredentialSource, LoginError, type Terminal } from './login/credential-source.ts';
import { readExecInfo, writeExecCredential } from './login/exec-credential.ts';
import { createTerminal, typed } from './login/terminal.ts';
import { cacheFolder, openTokenCache, renewAt } from './login/token-cache.ts';

const HEAD = `Usage: stonegate login (--keystone | --oidc) [OPTIONS]

Logs in and prints a credential for kubectl, which runs this command by itself: it stands as the user's exec in the
kubeconfig. The token is kept for the next calls.

  --keystone                 at OpenStack Keystone, with clouds.yaml or OS_* variables
  --oidc                     at an OpenID provider, in the browser
  --force                    log in though there is a good token
  --cache-dir DIR            where tokens are kept; without it stonegate in XDG_CACHE_HOME or ~/.cache
  --help                     this text

`;
const TAIL = `
Exit codes: 0 logged in, 1 not logged in, 2 wrong usage.
`;

export interface LoginParts {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Terminal['env'];
  /** The base of relative names. */
  readonly folder: string;
  readonly clock: Clock;
}

/** @param argv what follows `login` */
export function login(argv: readonly string[], io: CommandIO, given?: LoginParts): Promise<number> {
  const parts = given ?? systemParts();
  const help = argv.includes('--help') || argv.includes('-h');
  if (!help && argv.includes('--keystone') && !argv.includes('--oidc')) return atKeystone(argv, io, parts);
  if (!help && argv.includes('--oidc') && !argv.includes('--keystone')) return atProvider(argv, io, parts);
  return explain(argv, io);
}

async function atKeystone(argv: readonly string[], io: CommandIO, parts: LoginParts): Promise<number> {
  const { createKeystoneSource, KEYSTONE_USAGE, keystoneFlags } = await import('./login/keystone-source.ts');
  const usage = `${HEAD}With --keystone:\n${KEYSTONE_USAGE}${TAIL}`;
  return runCommand(
    { usage, options: { ...loginFlags, ...keystoneFlags }, argv, io },
    async (values, words) => {
      return logIn(() => createKeystoneSource({ ...parts, values }), values, words, { argv, io, parts });
    },
  );
}

async function atProvider(argv: readonly string[], io: CommandIO, parts: LoginParts): Promise<number> {
  const { createOidcSource, OIDC_USAGE, oidcFlags } = await import('./login/oidc-source.ts');
  const usage = `${HEAD}With --oidc:\n${OIDC_USAGE}${TAIL}`;
  return runCommand({ usage, options: { ...loginFlags, ...oidcFlags }, argv, io }, (values, words) =>
    logIn(async () => createOidcSource(values, parts.env), values, words, { argv, io, parts }),
  );
}

async function explain(argv: readonly string[], io: CommandIO): Promise<number> {
  const [{ KEYSTONE_USAGE }, { OIDC_USAGE }] = await Promise.all([
    import('./login/keystone-source.ts'),
    import('./login/oidc-source.ts'),
  ]);
  const usage = `${HEAD}With --keystone:\n${KEYSTONE_USAGE}\nWith --oidc:\n${OIDC_USAGE}${TAIL}`;
  return runCommand(
    { usage, options: {}, argv: argv.filter((word) => /^(--help|-h)$/.test(word)), io },
    () => {
      throw new UsageError('one of --keystone and --oidc is required');
    },
  );
}

async function logIn(
  createSource: () => Promise<CredentialSource>,
  values: { readonly force?: boolean | undefined; readonly 'cache-dir'?: string | undefined },
  words: readonly string[],
  {
    argv,
    io,
    parts,
  }: { readonly argv: readonly string[]; readonly io: CommandIO; readonly parts: LoginParts },
): Promise<number> {
  if (words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(words[0])}`);
  const { stdin, stderr, env, clock } = parts;
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new LoginError('interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const { apiVersion, mayAsk } = readExecInfo(env.KUBERNETES_EXEC_INFO);
    const command = typed(argv);
    const terminal = createTerminal({
      ...{ stdin, stderr, mayAsk, command, env, clock },
      signal: interrupted.signal,
    });
    const source = await createSource();
    const cache = await openTokenCache(cacheFolder(values['cache-dir'], env), source.identity);
    const caller = env.KUBERNETES_EXEC_INFO === undefined ? undefined : String(process.ppid);
    const force = values.force ?? false;
    const credential = await obtainCredential({ source, cache, terminal, force, caller });
    // kubectl runs the plugin again when the cache renews the token, not when the token expires during a
    // request.
    const end = clock.now() < renewAt(credential) ? renewAt(credential) : credential.expiresAt;
    io.stdout(writeExecCredential(apiVersion, { token: credential.token, expiresAt: end }));
    return EXIT.fine;
  } catch (error) {
    const reason = interrupted.signal.aborted ? interrupted.signal.reason : error;
    if (!(reason instanceof LoginError)) throw error;
    io.stderr(`stonegate login: ${reason.message}\n`);
    return EXIT.failed;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

function systemParts(): LoginParts {
  const { stdin, stderr, env } = process;
  return { stdin, stderr, env, folder: process.cwd(), clock: systemClock };
}

/** The options of both login methods, for `parseArgs`; `stonegate kubeconfig` reads them too. */
export const loginFlags = {
  keystone: { type: 'boolean' },
  oidc: { type: 'boolean' },
  force: { type: 'boolean' },
  'cache-dir': { type: 'string' },
} as const;
