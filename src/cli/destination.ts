/**
 * Which running Stonegate a command calls, and with which credential: from flags or from a context of the
 * user's kubeconfig.
 */
import type { ImpersonatedUser } from '../kubernetes/impersonation-headers.ts';
import { type OptionValues, OUTPUT_OPTION, UsageError, VALUE, VALUES } from './command.ts';
import { readGiven, readGivenToken } from './given-file.ts';
import { kubeconfigFiles } from './kubeconfig/file.ts';
import { readContext } from './kubeconfig/read-context.ts';
import type { StonegateAddress } from './stonegate-api.ts';

/** The options of every command that asks a running Stonegate. */
export const DESTINATION_OPTIONS = {
  context: VALUE,
  kubeconfig: VALUE,
  server: VALUE,
  'ca-file': VALUE,
  'token-file': VALUE,
  as: VALUE,
  'as-uid': VALUE,
  'as-group': VALUES,
  output: OUTPUT_OPTION,
} as const;

/** The lines about these options in a usage text. */
export const DESTINATION_USAGE = `  --context NAME             a context of the kubeconfig; without it the current
                             one
  --kubeconfig FILE          instead of KUBECONFIG or ~/.kube/config
  --server URL               this Stonegate, whatever the kubeconfig says
  --ca-file FILE             the authority of its certificate; without it the
                             system's
  --token-file FILE          the token to ask with, instead of the context's
                             credential
  --as USER                  as this user, if you may impersonate the user; also
                             --as-uid UID and --as-group GROUP
  -o, --output FORMAT        table, json or yaml
  --help                     this text
`;

type DestinationFlags = OptionValues<typeof DESTINATION_OPTIONS>;

export interface Destination extends StonegateAddress {
  /** The namespace of a request that names none, which kubectl takes from the context. */
  readonly namespace: string;
}

/** If neither the command line nor the context names one. */
const DEFAULT_NAMESPACE = 'default';

/**
 * @param tokenOption the option of `token-file` as the command spells it
 * @throws UsageError, or Error if a file cannot be read or the context cannot be used
 */
export async function destinationOf(
  flags: DestinationFlags,
  env: NodeJS.ProcessEnv,
  tokenOption = '--token-file',
): Promise<Destination> {
  const { server, 'ca-file': caFile } = flags;
  const token = await readGivenToken(tokenOption, flags['token-file']);
  const authorization = token && `Bearer ${token}`;
  if (server !== undefined) {
    if (authorization === undefined) throw new UsageError(`--server needs ${tokenOption}`);
    const ca = caFile === undefined ? undefined : await readGiven('--ca-file', caFile);
    const impersonated = impersonatedOf(flags);
    return { url: server, ca, authorization, impersonated, namespace: DEFAULT_NAMESPACE };
  }
  if (caFile !== undefined) throw new UsageError('--ca-file needs --server');
  const context = await readContext(kubeconfigFiles(flags.kubeconfig, env), flags.context);
  const { namespace = DEFAULT_NAMESPACE } = context;
  const there = { ...context, namespace, impersonated: impersonatedOf(flags, context.impersonated) };
  if (authorization !== undefined) return { ...there, authorization, certificate: undefined };
  return { ...there, ...(await context.credential()) };
}

/**
 * What the command line says counts before what the kubeconfig says, part by part, as for kubectl.
 *
 * @returns undefined if requests are made as the user who logs in
 */
function impersonatedOf(
  { as, 'as-uid': asUID, 'as-group': asGroup = [] }: DestinationFlags,
  configured: ImpersonatedUser = NO_USER,
): ImpersonatedUser | undefined {
  const user = {
    username: as || configured.username,
    uid: asUID || configured.uid,
    groups: asGroup.length > 0 ? asGroup : configured.groups,
    extra: configured.extra,
  };
  if (user.username !== '') return user;
  if (asUID !== undefined || asGroup.length > 0) throw new UsageError('--as-uid and --as-group need --as');
  if (user.uid === '' && user.groups.length === 0 && Object.keys(user.extra).length === 0) return undefined;
  throw new Error('the user of the context has as-uid, as-groups or as-user-extra without as');
}

const NO_USER: ImpersonatedUser = { username: '', uid: '', groups: [], extra: {} };
