/**
 * Which running Stonegate a command asks, and as whom: by flags, or as a context of the user's kubeconfig says.
 */
import { readFile } from 'node:fs/promises';
import type { StonegateAddress } from '../clients/stonegate-api.ts';
import { runExecPlugin } from './kubeconfig/exec-plugin.ts';
import { kubeconfigFiles } from './kubeconfig/files.ts';
import { type KubeContext, readContext, readToken } from './kubeconfig/read-context.ts';
import { UsageError } from './usage.ts';

export interface DestinationFlags {
  readonly server?: string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * @param flags `tokenFile` under whatever name the command has for it
 * @throws UsageError, KubeconfigError, ExecPluginError, or Error where a file cannot be read
 */
export async function destinationOf(flags: DestinationFlags, env: Environment): Promise<StonegateAddress> {
  const { server, 'ca-file': caFile, tokenFile } = flags;
  if (server !== undefined) {
    if (tokenFile === undefined) throw new UsageError('--server wants a token beside it');
    const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    return { url: server, ca, serverName: undefined, token: await readToken(tokenFile) };
  }
  if (caFile !== undefined) throw new UsageError('--ca-file wants --server beside it');
  const context = await readContext(kubeconfigFiles(flags.kubeconfig, env), flags.context);
  const token = tokenFile === undefined ? await prove(context) : await readToken(tokenFile);
  return { ...context.server, token };
}

function prove({ user }: KubeContext): Promise<string> | string {
  return user.kind === 'token' ? user.token : runExecPlugin(user.plugin);
}
