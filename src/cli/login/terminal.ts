/**
 * The user's terminal. Questions and messages go to standard error, because kubectl reads standard output.
 * Without a terminal the user is never asked, because the question would block.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { linesWithoutControls, withoutControls } from '../../lib/untrusted-text.ts';
import { LoginError, type Terminal } from './credential-source.ts';

/** `mayAsk`: whether kubectl allows questions. */
export type TerminalOptions = Pick<Terminal, 'command' | 'env' | 'clock' | 'signal'> & {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
  readonly mayAsk: boolean;
};

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdin, stderr, command, env, clock, signal } = options;
  const interactive = options.mayAsk && stdin.isTTY === true && stderr.isTTY === true;

  async function askHidden(question: string): Promise<string> {
    if (!interactive) throw new LoginError(`${question.trim()} there is no terminal to ask`);
    signal.throwIfAborted();
    const answer = askLine(stdin, silence(), '', signal);
    // After readline has turned the terminal's echo off.
    stderr.write(linesWithoutControls(question));
    // The user's Enter was not echoed.
    return answer.finally(() => stderr.write('\n'));
  }

  return {
    interactive,
    command,
    env,
    clock,
    signal,
    say: (line) => void stderr.write(`${withoutControls(line)}\n`),
    askHidden,
    async openBrowser(url) {
      const { openBrowser } = await import('./oidc-browser.ts');
      return openBrowser(url, env, clock);
    },
  };
}

/** Asks for a line. Control characters of the question are replaced. Undefined without a terminal. */
export type Question = ((question: string) => Promise<string>) | undefined;

export function createQuestion({ stdin, stderr }: Pick<TerminalOptions, 'stdin' | 'stderr'>): Question {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return undefined;
  return (question) => {
    const lines = linesWithoutControls(question).split('\n');
    // Readline counts the columns of what it prompts with.
    const prompt = lines.pop() ?? '';
    for (const line of lines) stderr.write(`${line}\n`);
    return askLine(stdin, stderr, prompt);
  };
}

/** @throws LoginError if nothing is entered */
async function askLine(
  input: NodeJS.ReadStream,
  output: Writable,
  prompt: string,
  signal?: AbortSignal,
): Promise<string> {
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  const given = new AbortController();
  lines.once('SIGINT', () => given.abort(new LoginError('interrupted')));
  lines.once('close', () => given.abort(new LoginError('nothing was entered')));
  const ended = AbortSignal.any([given.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    return await lines.question(prompt, { signal: ended });
  } catch (error) {
    throw ended.aborted ? ended.reason : error;
  } finally {
    lines.close();
  }
}

/** Discards readline's echo. */
function silence(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/**
 * The command line for a terminal. Output goes to /dev/null, because the token must not be shown.
 *
 * @param argv of `stonegate login`, which accepts no secrets in options
 */
export function typed(argv: readonly string[]): string {
  return ['stonegate', 'login', ...argv.map(quoted), '>/dev/null'].join(' ');
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${withoutControls(word).replaceAll("'", "'\\''")}'`;
}
