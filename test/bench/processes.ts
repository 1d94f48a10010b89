/**
 * The processes of the benchmark, started on a given core and ended by their id. None outlives the benchmark:
 * it ends them itself, or the kernel does if the benchmark was killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { until } from './waiting.ts';

/** Contenders have the first core; upstream and load share the second. */
export const CONTENDER_CORE = '0';
export const LOAD_CORE = '1';
/** Without the core of the load if there are more than two. */
export const TWO_CORES = cpus().length > 2 ? '0,2' : '0,1';

export interface Running {
  readonly pid: number;
  /** What it has written so far, both streams together. */
  output(): string;
  gone(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended and `output` is complete. */
  closed(): Promise<void>;
  stop(): Promise<void>;
}

export interface Serving extends Running {
  readonly port: number;
  /** Clears away what only grows; called between turns. */
  tidy?(): void;
}

/** They end with the benchmark. */
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export function program(name: string): string {
  return fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url));
}

/** @param core what `taskset` takes */
export function start(
  core: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'taskset', '-c', core, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-64 * 1024);
    });
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  return {
    pid: child.pid ?? 0,
    output: () => output,
    gone: () => ended(child),
    signal: (name) => void child.kill(name),
    closed: () => closed,
    stop: () => end(child),
  };
}

/** Node for whatever is measured, with the flag of the container image. */
export const NODE = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
] as const;

/** A Node program; resolves when it has announced its port. */
export async function startProgram(core: string, name: string, ...args: string[]): Promise<Serving> {
  const running = start(core, [...NODE, program(name), ...args]);
  const port = await until(running, () => {
    const line = /^\{"port":(\d+)\}$/m.exec(running.output());
    return line ? Number(line[1]) : undefined;
  });
  return { ...running, port };
}

function ended(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  if (ended(child)) return;
  const exit = once(child, 'exit');
  // A stopped process handles no signal before it continues.
  child.kill('SIGINT');
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await exit;
  clearTimeout(timer);
}
