/** Stonegate as a user runs it: a process of its own, whose log goes into a file. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readIfThere } from '../src/lib/file-errors.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** Milliseconds. */
const READY_WITHIN = 20_000;
const ENDED_WITHIN = 10_000;

export interface StonegateProcess {
  /** Settles when the process has ended, with the reason. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM, and SIGKILL after ten seconds. */
  stop(): Promise<void>;
}

/**
 * Resolves when `/readyz` says ok.
 *
 * @param options.admin `http://host:port` of the admin listener
 * @throws Error with the end of the log if it does not become ready
 */
export async function startStonegateProcess(options: {
  readonly configFile: string;
  readonly logFile: string;
  readonly admin: string;
}): Promise<StonegateProcess> {
  const { configFile, logFile, admin } = options;
  const log = openSync(logFile, 'w', 0o600);
  // A process group of its own: Ctrl-C reaches the demo alone, which ends things in order.
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', configFile], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const over = new AbortController();
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  }).then(async (how) => {
    over.abort();
    process.off('exit', kill);
    const lines = ((await readIfThere(logFile)) ?? '').trimEnd().split('\n').slice(-5);
    return [`Stonegate has ended (${how}). The last lines of ${logFile}:`, ...lines].join('\n');
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(kill, ENDED_WITHIN);
    await ended;
    clearTimeout(timer);
  };
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(READY_WITHIN)]);
  while (!signal.aborted) {
    const isReady = fetch(`${admin}/readyz`, { signal }).then(({ ok }) => ok);
    if (await isReady.catch(() => false)) return { ended, stop };
    await pause(50);
  }
  await stop();
  throw new Error(`Stonegate did not become ready. ${await ended}`);
}
