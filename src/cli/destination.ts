/**
 * Which running Stonegate a command calls, and with which credential: from flags or from a context of the
 * user's kubeconfig.
 */
import type { StonegateAddress } from '../clients/stonegate-api.ts';
import type { ImpersonatedUser } from '../lib/impersonation-headers.ts';
import { UsageError } from './command.ts';
import { type GivenFile, givenFile, readGiven, readGivenToken } from './given-file.ts';
import { KubeconfigError, kubeconfigFiles, type ProcessEnvironment } from './kubeconfig/file.ts';
import { readContext, runExecPlugin, type UserProof } from './kubeconfig/read-context.ts';

export interface DestinationFlags {
  readonly server?: string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly tokenFile?: GivenFile | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly as?: string | undefined;
  readonly 'as-uid'?: string | undefined;
  readonly 'as-group'?: readonly string[] | undefined;
}

export interface Destination extends StonegateAddress {
  /** Of a request that names no namespace; as kubectl takes it from the context. */
  readonly namespace: string;
}

/** If neither the command line nor the context names one. */
const DEFAULT_NAMESPACE = 'default';

/**
 * @param flags `tokenFile` is the file of the command's own token option
 * @throws UsageError, KubeconfigError, ExecPluginError, or Error if a file cannot be read
 */
export async function destinationOf(flags: DestinationFlags, env: ProcessEnvironment): Promise<Destination> {
  const { server, 'ca-file': caFile, tokenFile } = flags;
  if (server !== undefined) {
    if (tokenFile === undefined) throw new UsageError('--server needs --token-file');
    const given = givenFile('--ca-file', caFile);
    const ca = given && (await readGiven(given));
    const authorization = bearer(await readGivenToken(tokenFile));
    const address = { url: server, ca, serverName: undefined, authorization, certificate: undefined };
    return { ...address, impersonated: impersonatedOf(flags), namespace: DEFAULT_NAMESPACE };
  }
  if (caFile !== undefined) throw new UsageError('--ca-file wants --server beside it');
  const context = await readContext(kubeconfigFiles(flags.kubeconfig, env), flags.context);
  const { server: address, user, namespace = DEFAULT_NAMESPACE } = context;
  const there = { ...address, impersonated: impersonatedOf(flags, user.impersonated), namespace };
  if (tokenFile !== undefined)
    return { ...there, authorization: bearer(await readGivenToken(tokenFile)), certificate: undefined };
  return { ...there, authorization: await authorizationOf(user.proof), certificate: user.certificate };
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
  if (asUID !== undefined || asGroup.length > 0)
    throw new UsageError('--as-uid and --as-group want --as beside them');
  if (user.uid === '' && user.groups.length === 0 && Object.keys(user.extra).length === 0) return undefined;
  throw new KubeconfigError('the user of the context has as-uid, as-groups or as-user-extra without as');
}

const NO_USER: ImpersonatedUser = { username: '', uid: '', groups: [], extra: {} };

async function authorizationOf(proof: UserProof | undefined): Promise<string | undefined> {
  switch (proof?.kind) {
    case undefined:
      return undefined;
    case 'token':
      return bearer(proof.token);
    case 'password':
      return `Basic ${Buffer.from(`${proof.userName}:${proof.password}`, 'utf8').toString('base64')}`;
    case 'exec':
      return bearer(await runExecPlugin(proof.plugin));
  }
}

const bearer = (token: string): string => `Bearer ${token}`;
