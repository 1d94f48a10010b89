/** Runs a command that sends requests to a Stonegate, which returns recorded responses. */
import { join } from 'node:path';
import type { Test } from 'tap';
import type { CommandIO } from '../../src/cli/command.ts';
import { printedBy } from './printed-io.ts';
import { startRecordedServer } from './recorded-server.ts';

type Asking = (argv: readonly string[], io: CommandIO, env: NodeJS.ProcessEnv) => Promise<number>;

/** @returns what it printed, and the requests that it made with the token `the-token` */
export async function askCommand(
  t: Test,
  command: Asking,
  words: readonly string[],
  respond: Parameters<typeof startRecordedServer>[1],
) {
  const { url, asked } = await startRecordedServer(t, respond);
  const tokenFile = join(t.testdir({ token: 'the-token' }), 'token');
  const printed = await printedBy(command, [...words, '--server', url, '--token-file', tokenFile], {});
  return { ...printed, asked };
}
