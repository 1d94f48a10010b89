/** Stonegate as a user runs it: a process of its own, whose log goes into a file. */
import { type ChildProcess, spawn } from 'node:child_process';
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
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill);
  const ended = endOf(child, logFile).finally(() => process.off('exit', kill));
  const started: StonegateProcess = { ended, stop: () => stop(child, ended) };

  const gaveUp = new AbortController();
  const outcome = await Promise.race([ended, untilReady(admin, gaveUp.signal)]);
  gaveUp.abort();
  if (outcome === 'ready') return started;
  await started.stop();
  throw new Error(outcome);
}

async function endOf(child: ChildProcess, logFile: string): Promise<string> {
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
  });
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5);
  return [`Stonegate has ended (${how}). The last lines of ${logFile}:`, ...lines].join('\n');
}

/** Polls `/readyz` until it is ok, the time is over or the caller has given up. */
async function untilReady(admin: string, cancelled: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(READY_WITHIN);
  let answer = 'no answer';
  while (!late.aborted && !cancelled.aborted) {
    try {
      const response = await fetch(`${admin}/readyz`, { signal: AbortSignal.any([late, cancelled]) });
      answer = await response.text();
      if (response.ok) return 'ready';
    } catch (error) {
      answer = error instanceof Error ? error.message : String(error);
    }
    await pause(50);
  }
  return `Stonegate is not ready after ${READY_WITHIN / 1_000} s: ${answer}`;
}

async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), ENDED_WITHIN);
  await ended;
  clearTimeout(timer);
}
