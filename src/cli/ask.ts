/**
 * What the commands share that ask a running Stonegate: options for which one and with which credential, for
 * the output, and what becomes of an error.
 */
import type { StonegateAddress } from '../clients/stonegate-api.ts';
import { type CommandIO, EXIT, UsageError } from './command.ts';
import { destinationOf } from './destination.ts';
import { givenFile } from './given-file.ts';
import type { ProcessEnvironment } from './kubeconfig/file.ts';

export const ASK_OPTIONS = {
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  server: { type: 'string' },
  'ca-file': { type: 'string' },
  'token-file': { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

/** The lines about these options in a usage text. */
export const ASK_USAGE = `  --context NAME             a context of the kubeconfig; without it the current one
  --kubeconfig FILE          instead of KUBECONFIG or ~/.kube/config
  --server URL               this Stonegate, whatever the kubeconfig says
  --ca-file FILE             the authority of its certificate; without it the system's
  --token-file FILE          the token to ask with, instead of the context's credential
  -o, --output FORMAT        table, json or yaml
  --help                     this text
`;

export type AskValues = Readonly<Partial<Record<keyof typeof ASK_OPTIONS, string | undefined>>>;

/**
 * @param command names it in messages
 * @returns the exit code
 * @throws UsageError
 */
export async function ask(
  command: string,
  values: AskValues,
  { io, env }: { readonly io: CommandIO; readonly env: ProcessEnvironment },
  asking: (address: StonegateAddress) => Promise<void>,
): Promise<number> {
  try {
    const tokenFile = givenFile('--token-file', values['token-file']);
    await asking(await destinationOf({ ...values, tokenFile }, env));
    return EXIT.fine;
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    io.stderr(`stonegate ${command}: ${error.message}\n`);
    return EXIT.failed;
  }
}
