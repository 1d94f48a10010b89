/**
 * The person at the terminal. Questions and notes go to standard error, since kubectl reads standard output; what is
 * typed in answer to a hidden question is never shown. Where kubectl or a script runs the command without a terminal
 * nobody is asked: a question without an answer would hang.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { LoginError, type Terminal } from './credential-source.ts';

export interface TerminalOptions {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
  /** Whether kubectl lets the person be asked. */
  readonly mayAsk: boolean;
  readonly command: Terminal['command'];
  readonly env: Terminal['env'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdin, stderr, command, env, clock, signal } = options;
  const interactive = options.mayAsk && stdin.isTTY === true && stderr.isTTY === true;

  async function askHidden(question: string): Promise<string> {
    if (!interactive) throw new LoginError(`${question.trim()} nobody can be asked without a terminal`);
    signal.throwIfAborted();
    const output = silence();
    const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    const given = new AbortController();
    lines.once('SIGINT', () => given.abort(new LoginError('interrupted')));
    lines.once('close', () => given.abort(new LoginError('nothing was entered')));
    const ended = AbortSignal.any([signal, given.signal]);
    // Only now: what is typed before the terminal's own echo is off would be seen.
    stderr.write(question);
    try {
      return await lines.question('', { signal: ended });
    } catch (error) {
      throw ended.aborted ? ended.reason : error;
    } finally {
      lines.close();
      // The person's own Enter was hidden too.
      stderr.write('\n');
    }
  }

  return {
    interactive,
    command,
    env,
    clock,
    signal,
    say: (line) => void stderr.write(`${line}\n`),
    askHidden,
    async openBrowser(url) {
      const { openBrowser } = await import('./oidc-browser.ts');
      return openBrowser(url, { env, clock });
    },
  };
}

/** Where readline's echo goes when it is not to be seen. */
function silence(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

// FROM src/cli/login/typed.ts
/*!
 * A command line as a person can type it. A kubeconfig hands its words over as they are, a shell would take some of them
 * apart.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02 (quoting)
 */

/**
 * The token that it prints is for kubectl, not for a screen.
 *
 * @param argv of `stonegate login`, without secrets: it refuses those in options
 */
export function typed(argv: readonly string[]): string {
  return ['stonegate', 'login', ...argv.map(quoted), '>/dev/null'].join(' ');
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd').replaceAll("'", "'\\''")}'`;
}
