/** The output of a running program. A test can wait for text, and fails if the program ends first. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** @param child a process that was just started */
export function followOutput(child: ChildProcess) {
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
    /** The whole standard output so far. */
    get printed() {
      return printed;
    },
    /** Resolves once `isReached` is true for the whole output so far; rejects if the program ends first. */
    until(isReached: (printed: string) => boolean) {
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
