/**
 * What the commands share that ask a running Stonegate: options for which one and with which credential, for
 * the output, and what becomes of an error.
 */
import { type CommandIO, columns, EXIT, UsageError } from './command.ts';
import { type Destination, type DestinationFlags, destinationOf } from './destination.ts';
import { givenFile } from './given-file.ts';
import type { ProcessEnvironment } from './kubeconfig/file.ts';

export const ASK_OPTIONS = {
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  server: { type: 'string' },
  'ca-file': { type: 'string' },
  'token-file': { type: 'string' },
  as: { type: 'string' },
  'as-uid': { type: 'string' },
  'as-group': { type: 'string', multiple: true },
  output: { type: 'string', short: 'o' },
} as const;

/** The lines about these options in a usage text. */
export const ASK_USAGE = `  --context NAME             a context of the kubeconfig; without it the current one
  --kubeconfig FILE          instead of KUBECONFIG or ~/.kube/config
  --server URL               this Stonegate, whatever the kubeconfig says
  --ca-file FILE             the authority of its certificate; without it the system's
  --token-file FILE          the token to ask with, instead of the context's credential
  --as USER                  as this user, if you may impersonate the user; also --as-uid UID and --as-group GROUP
  -o, --output FORMAT        table, json or yaml
  --help                     this text
`;

export interface AskValues extends Omit<DestinationFlags, 'tokenFile'> {
  readonly 'token-file'?: string | undefined;
}

/**
 * @param command names it in messages
 * @returns the exit code
 * @throws UsageError
 */
export async function ask(
  command: string,
  values: AskValues,
  { io, env }: { readonly io: CommandIO; readonly env: ProcessEnvironment },
  asking: (destination: Destination) => Promise<void>,
): Promise<number> {
  try {
    const tokenFile = givenFile('--token-file', values['token-file']);
    await asking(await destinationOf({ ...values, tokenFile }, env));
    return EXIT.fine;
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    io.stderr(columns([[`stonegate ${command}: ${error.message}`]]));
    return EXIT.failed;
  }
}
