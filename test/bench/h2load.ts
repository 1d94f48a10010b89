/**
 * The load over HTTP/2: `h2load`, one thread. Its time runs on while it is stopped, and it prints no summary
 * when a signal ends it. Therefore a short complete run shows the protocol first, and the log of the long run
 * shows whether anything was refused.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Generator, generatorOf, type LoadOptions } from './generator.ts';
import { LOAD_CORE, start } from './processes.ts';

const run = promisify(execFile);
const TRIAL = '1000';

/** A line of the log costs h2load a system call, one or two microseconds, with any contender. */
export async function h2load(options: LoadOptions): Promise<Generator> {
  const [command, ...words] = ['h2load', '-m8', ...wordsOf(options)] as const;
  const { stdout } = await run('taskset', ['-c', LOAD_CORE, command, '-n', TRIAL, ...words]);
  if (!stdout.includes(`, ${TRIAL} succeeded, 0 failed`) || !stdout.includes('Application protocol: h2'))
    throw new Error(`h2load had failures:\n${stdout}`);
  const log = emptyLog(options);
  const running = start(LOAD_CORE, [command, '-D3600', `--log-file=${log}`, ...words]);
  return generatorOf(running, async () => {
    await running.stop();
    assertServed(log);
  });
}

/** h2load appends to its log. */
function emptyLog({ folder, port }: LoadOptions): string {
  const log = join(folder, `h2load-${port}.log`);
  rmSync(log, { force: true });
  return log;
}

/** @throws Error if a request was refused; for the format of the log see h2load(1), `--log-file` */
function assertServed(log: string): void {
  const statuses = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[1]);
  const refused = statuses.filter((status) => status !== '200');
  if (refused.length > 0)
    throw new Error(`${refused.length} requests were refused, the first with ${refused[0]}`);
}

function wordsOf({ port, path, connections, tokens }: LoadOptions): string[] {
  const header = `Authorization: Bearer ${tokens[0]}`;
  return ['-t1', `-c${connections}`, '-H', header, `https://127.0.0.1:${port}${path}`];
}
