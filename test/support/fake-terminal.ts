/**
 * The user in front of a login, played by the test.
 */
import { LoginError, type Terminal } from '../../src/cli/login/credential-source.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';

export interface FakeTerminal extends Terminal {
  readonly clock: FakeClock;
  /** What was said so far, a line each. */
  readonly said: string[];
  /** The pages opened so far. */
  readonly opened: string[];
  /** As Ctrl-C does. */
  interrupt(): void;
}

export interface FakeTerminalOptions {
  readonly interactive?: boolean;
  /** What the user does in the browser; without it there is none. */
  readonly browser?: (url: string) => unknown;
  /** Called with each line that is said. */
  readonly onSay?: (line: string) => void;
}

export function createFakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const { interactive = true, browser, onSay } = options;
  const interrupted = new AbortController();
  const said: string[] = [];
  const opened: string[] = [];
  const noAnswer = async (question: string): Promise<string> => {
    throw new LoginError(`asked: ${question}`);
  };
  return {
    interactive,
    command: 'stonegate login --oidc >/dev/null',
    said,
    opened,
    clock: createFakeClock(),
    env: {},
    signal: interrupted.signal,
    say(line) {
      said.push(line);
      onSay?.(line);
    },
    askHidden: noAnswer,
    async openBrowser(url) {
      if (browser === undefined) return false;
      opened.push(url);
      browser(url);
      return true;
    },
    interrupt: () => interrupted.abort(new Error('interrupted')),
  };
}
