/** The user in front of a login, played by the test. */
import { LoginError, type Terminal } from '../../src/cli/login/credential-source.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';

export interface FakeTerminal extends Terminal {
  readonly clock: FakeClock;
  /** The lines that the user has seen so far. */
  readonly said: string[];
  /** The pages that were opened so far. */
  readonly opened: string[];
  /** Interrupts the login as Ctrl-C does. */
  interrupt(): void;
}

export interface FakeTerminalOptions {
  readonly interactive?: boolean;
  /** What the user does in the browser; by default there is no browser. */
  readonly browser?: (url: string) => unknown;
  /** Called with each line that is shown. */
  readonly onSay?: (line: string) => void;
}

export function createFakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const { interactive = true, browser, onSay } = options;
  const interrupted = new AbortController();
  const said: string[] = [];
  const opened: string[] = [];
  const noAnswer = async (question: string) => {
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
