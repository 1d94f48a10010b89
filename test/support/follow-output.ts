/** What a program prints while it runs: a test waits for it, and fails if the program ends before. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface FollowedOutput {
  /** Resolves once it is so of everything on standard output; rejects if the program ends before. */
  until(isReached: (printed: string) => boolean): Promise<void>;
  /** Everything on standard output so far. */
  readonly printed: string;
  stop(): Promise<void>;
}

/** @param child just started */
export function followOutput(child: ChildProcess): FollowedOutput {
  let printed = '';
  let complaint = '';
  let hasEnded = false;
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    tell();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const closed = once(child, 'close').then(() => {
    hasEnded = true;
    tell();
  });
  return {
    get printed() {
      return printed;
    },
    until(isReached) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const check = () => {
        if (isReached(printed)) resolve();
        else if (hasEnded)
          reject(new Error(`it ended, having printed ${JSON.stringify({ printed, complaint })}`));
      };
      listeners.add(check);
      check();
      return promise.finally(() => listeners.delete(check));
    },
    async stop() {
      child.kill();
      await closed;
    },
  };
}
