/** A server as a child process: its output is in a file, and it ends with the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export type ServerProcess = ReturnType<typeof startServerProcess>;

const POLL = 20;
const TIMEOUT = 60_000;

/** @param log the file for its output */
export function startServerProcess(program: string, words: readonly string[], log: string) {
  const file = openSync(log, 'w');
  // The kernel ends it with this process; a killed test would otherwise leave it running.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...words], {
    stdio: ['ignore', file, file],
    // Servers in Go collect no garbage below this limit, which saves a fifth of the time of a start.
    env: { ...process.env, GOGC: 'off', GOMEMLIMIT: '768MiB' },
  });
  closeSync(file);
  const ended = once(child, 'exit');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const output = () => readFileSync(log, 'utf8');
  return {
    pid: child.pid ?? 0,
    /** The whole output of the process so far. */
    output,
    /** Repeats `ready` until it is true. Rejects if the process ends first, or after a minute. */
    async whenReady(ready: () => Promise<boolean>) {
      for (let tries = TIMEOUT / POLL; tries > 0; tries -= 1) {
        if (hasEnded()) break;
        if (await ready()) return;
        await pause(POLL);
      }
      throw new Error(`${program} is not ready:\n${output().slice(-4_000)}`);
    },
    async stop() {
      if (hasEnded()) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
