/** Stonegate as a user runs it: a process of its own, whose log goes into a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
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
 * @param admin `http://host:port` of the admin listener
 * @throws Error with the end of the log if it does not become ready
 */
export async function startStonegateProcess(
  configFile: string,
  logFile: string,
  admin: string,
): Promise<StonegateProcess> {
  const log = openSync(logFile, 'w', 0o600);
  // A process group of its own: Ctrl-C reaches the demo alone, which ends things in order.
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', configFile], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  process.once('exit', () => child.kill('SIGKILL'));
  const ended = endOf(child, logFile);
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), ENDED_WITHIN);
    await ended;
    clearTimeout(timer);
  };
  const late = AbortSignal.timeout(READY_WITHIN);
  let isReady = false;
  while (!isReady && !late.aborted && child.exitCode === null && child.signalCode === null) {
    await pause(50);
    isReady = await fetch(`${admin}/readyz`, { signal: late }).then(
      ({ ok }) => ok,
      () => false,
    );
  }
  if (isReady) return { ended, stop };
  await stop();
  throw new Error(`Stonegate did not become ready. ${await ended}`);
}

async function endOf(child: ChildProcess, logFile: string): Promise<string> {
  const how = await once(child, 'exit').then(
    ([code, signal]) => signal ?? `exit code ${code}`,
    (error: Error) => error.message,
  );
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5);
  return [`Stonegate has ended (${how}). The last lines of ${logFile}:`, ...lines].join('\n');
}
