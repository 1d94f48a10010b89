/**
 * Which running Stonegate a command calls, and with which credential: from flags or from a context of the
 * user's kubeconfig.
 */
import type { StonegateAddress } from '../clients/stonegate-api.ts';
import { UsageError } from './command.ts';
import { type GivenFile, givenFile, readGiven, readGivenToken } from './given-file.ts';
import { kubeconfigFiles, type ProcessEnvironment } from './kubeconfig/file.ts';
import { readContext, runExecPlugin, type UserProof } from './kubeconfig/read-context.ts';

export interface DestinationFlags {
  readonly server?: string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly tokenFile?: GivenFile | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/**
 * @param flags `tokenFile` is the file of the command's own token option
 * @throws UsageError, KubeconfigError, ExecPluginError, or Error if a file cannot be read
 */
export async function destinationOf(
  flags: DestinationFlags,
  env: ProcessEnvironment,
): Promise<StonegateAddress> {
  const { server, 'ca-file': caFile, tokenFile } = flags;
  if (server !== undefined) {
    if (tokenFile === undefined) throw new UsageError('--server wants a token beside it');
    const given = givenFile('--ca-file', caFile);
    const ca = given && (await readGiven(given));
    const authorization = bearer(await readGivenToken(tokenFile));
    return { url: server, ca, serverName: undefined, authorization, certificate: undefined };
  }
  if (caFile !== undefined) throw new UsageError('--ca-file wants --server beside it');
  const { server: address, user } = await readContext(kubeconfigFiles(flags.kubeconfig, env), flags.context);
  if (tokenFile !== undefined)
    return { ...address, authorization: bearer(await readGivenToken(tokenFile)), certificate: undefined };
  return { ...address, authorization: await authorizationOf(user.proof), certificate: user.certificate };
}

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
