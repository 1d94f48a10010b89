/**
 * The processes of the benchmark: started on a core of their own, watched through /proc, ended by their id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Contenders have the first core; upstream and load share the second. */
export const CONTENDER_CORE = '0';
export const LOAD_CORE = '1';
export const ANY_CORE = '0,1';

const TICKS_PER_SECOND = 100;
const PATIENCE_MS = 60_000;

export interface Running {
  readonly pid: number;
  /** What it has written so far, both streams together. */
  output(): string;
  gone(): boolean;
  stop(): Promise<void>;
}

export interface Serving extends Running {
  readonly port: number;
}

/** Whatever ends the benchmark ends them too. */
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
  const child = spawn('taskset', ['-c', core, ...words], {
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
  return { pid: child.pid ?? 0, output: () => output, gone: () => ended(child), stop: () => end(child) };
}

/** A Node program; resolves when it has announced its port. */
export async function startProgram(core: string, name: string, ...args: string[]): Promise<Serving> {
  const running = start(core, [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    program(name),
    ...args,
  ]);
  const port = await until(running, () => {
    const line = /^\{"port":(\d+)\}$/m.exec(running.output());
    return line ? Number(line[1]) : undefined;
  });
  return { ...running, port };
}

/** Waits until `look` finds something, or the process is gone. */
export async function until<T>(
  running: Running,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (running.gone()) throw new Error(`it ended:\n${running.output()}`);
    if (Date.now() > deadline) throw new Error(`not ready in time:\n${running.output()}`);
    await pause(10);
  }
}

/** For programs that do not say that they are ready. */
export async function untilListening(running: Running, port: number): Promise<void> {
  await until(running, async () => {
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    return open || undefined;
  });
}

function ended(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  if (ended(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await exit;
  clearTimeout(timer);
}

/** Seconds of CPU the process with its threads has used, and the processes it has started, which are its workers. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, member) => sum + ownCPUSeconds(member), 0);
}

/** Resident memory in bytes, of the same. */
export function residentBytes(pid: number): number {
  return family(pid).reduce((sum, member) => sum + ownResidentBytes(member), 0);
}

function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number).flatMap(family))];
}

function ownCPUSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function ownResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

/** How often the main thread went to sleep by itself, which is how often something woke it. */
export function wakeUps(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}
