/**
 * The load over HTTP/2, and at a given pace over HTTP/1.1: `h2load`, one thread. Its time runs on while it is
 * stopped, and a signal ends it without a word. So it never comes to its end by itself: a short whole run
 * before it shows which protocol is spoken, and its log that nothing was refused.
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
    answersIn(log);
  });
}

/** h2load writes behind what is there. */
function emptyLog({ folder, port }: LoadOptions): string {
  const log = join(folder, `h2load-${port}.log`);
  rmSync(log, { force: true });
  return log;
}

/** @throws where one was refused, or none came */
function answersIn(log: string) {
  const answers = readFileSync(log, 'utf8').trim().split('\n').map(loggedRequest);
  const refused = answers.filter(({ status }) => status !== 200);
  if (refused[0] !== undefined)
    throw new Error(`${refused.length} answers were refusals, the first of them ${refused[0].status}`);
  return answers;
}

/** Microseconds, and the status, -1 where there was no answer: h2load(1), `--log-file`. */
function loggedRequest(line: string) {
  const [began = Number.NaN, status = Number.NaN, took = Number.NaN] = line.split('\t').map(Number);
  return { began, status, took };
}

function wordsOf({ port, path, connections, tokens }: LoadOptions): string[] {
  const header = `Authorization: Bearer ${tokens[0]}`;
  return ['-t1', `-c${connections}`, '-H', header, `https://127.0.0.1:${port}${path}`];
}
