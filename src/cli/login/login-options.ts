/**
 * The options of `stonegate login`, which `stonegate kubeconfig` writes into the kubeconfig. They are apart
 * from what they do, because kubectl runs the command on every call and should load little.
 */
import { FLAG, type OptionValues, UsageError, VALUE, VALUES } from '../command.ts';

/** Both ways to log in have these options. `login` itself has more. */
const COMMON_OPTIONS = {
  keystone: FLAG,
  oidc: FLAG,
  'cache-dir': VALUE,
} as const;

/** Settings of OpenStack that have a flag, such as `--os-auth-url`. */
export const KEYSTONE_SETTINGS = [
  'auth-type',
  'auth-url',
  'cacert',
  'username',
  'user-id',
  'user-domain-name',
  'user-domain-id',
  'project-name',
  'project-id',
  'project-domain-name',
  'project-domain-id',
  'domain-name',
  'domain-id',
  'system-scope',
  'trust-id',
  'application-credential-id',
  'application-credential-name',
] as const;

/** Flags that are refused: every user of the machine can read a command line. */
export const KEYSTONE_SECRETS = ['password', 'token', 'application-credential-secret'] as const;

/** @returns `OS_AUTH_URL` for `auth-url` */
export function variableOf(word: string): string {
  return `OS_${word.toUpperCase().replaceAll('-', '_')}`;
}

const KEYSTONE_OPTIONS = {
  'os-cloud': VALUE,
  unscoped: FLAG,
  ...Object.fromEntries(KEYSTONE_SETTINGS.map((flag) => [`os-${flag}`, VALUE])),
  ...Object.fromEntries(
    KEYSTONE_SECRETS.map((flag) => [`os-${flag}`, { type: 'string', choices: [] } as const]),
  ),
} as const;

const OIDC_OPTIONS = {
  'issuer-url': VALUE,
  'client-id': VALUE,
  'client-secret-file': VALUE,
  scope: VALUES,
  'extra-param': VALUES,
  'ca-file': VALUE,
  'device-code': FLAG,
  'no-browser': FLAG,
  'listen-port': VALUES,
  'redirect-uri': VALUE,
} as const;

/** The options of both ways to log in, for `parseArgs`. */
export const LOGIN_OPTIONS = { ...COMMON_OPTIONS, ...KEYSTONE_OPTIONS, ...OIDC_OPTIONS };

/** Parsed options, by name. */
export type KeystoneValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Parsed options. */
export type OidcValues = OptionValues<typeof OIDC_OPTIONS>;

/** @throws UsageError if the way is not chosen, or an option is of the other one */
export function wayOf(values: Readonly<Record<string, unknown>>): 'keystone' | 'oidc' {
  if ((values.keystone === true) === (values.oidc === true))
    throw new UsageError('one of --keystone and --oidc is required');
  const [way, options, other] =
    values.keystone === true
      ? (['keystone', KEYSTONE_OPTIONS, 'oidc'] as const)
      : (['oidc', OIDC_OPTIONS, 'keystone'] as const);
  const foreign = Object.keys(values).find((name) => !(name in options) && !(name in COMMON_OPTIONS));
  if (foreign !== undefined) throw new UsageError(`--${foreign} goes with --${other}`);
  return way;
}

export const LOGIN_USAGE = `Usage: stonegate login (--keystone | --oidc) [OPTIONS]

Logs in and prints a credential for kubectl, which runs this command by itself:
the kubeconfig names it as the user's "exec". The token is cached for the next
calls. At a terminal it prints who is logged in instead, and until when.

  --keystone                 at OpenStack Keystone, with clouds.yaml or OS_*
                             variables
  --oidc                     at an OpenID provider, in the browser
  --force                    log in though there is a good token
  --print                    print the credential at a terminal too
  --cache-dir DIR            where tokens are cached; without it stonegate in
                             XDG_CACHE_HOME or ~/.cache
  --help                     this text

With --keystone:
  --os-cloud NAME            a cloud of clouds.yaml; OS_CLOUD without it
  --os-WORD VALUE            over what the cloud or OS_WORD says. WORD is one of
                             auth-type, auth-url, cacert, username, user-id,
                             user-domain-name, user-domain-id, project-name,
                             project-id, project-domain-name, project-domain-id,
                             domain-name, domain-id, system-scope, trust-id,
                             application-credential-id,
                             application-credential-name
  --unscoped                 a token for no project or domain
Secrets are read from clouds.yaml, secure.yaml, OS_PASSWORD, OS_TOKEN or
OS_APPLICATION_CREDENTIAL_SECRET; you are prompted for one that is in none.

With --oidc:
  --issuer-url URL           the provider's issuer, as its tokens name it
  --client-id ID             the client registered there for kubectl
  --client-secret-file FILE  where even such a client has a secret
  --scope SCOPE              to ask for besides openid, profile, email and
                             offline_access; repeatable
  --extra-param NAME=VALUE   for the provider's login page, such as
                             prompt=consent; repeatable
  --ca-file FILE             PEM: the only authorities trusted for the provider
  --device-code              confirm a code on any other device instead of using
                             a browser here
  --no-browser               print the address instead of opening it
  --listen-port PORT         for the browser's answer; the first free one of
                             several; without it any
  --redirect-uri URI         where the browser comes back to: http://127.0.0.1/
                             by default, or http://localhost/ or http://[::1]/,
                             with the path registered at the provider

Exit codes: 0 logged in, 1 not logged in, 2 wrong usage.
`;
