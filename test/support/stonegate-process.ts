/**
 * The `stonegate` command as a separate process, for behaviour that only a process can show: signals, exit
 * codes, workers.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';

/** The program of this version. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type StonegateProcess = Awaited<ReturnType<typeof served>>;

export type LogLine = Readonly<Record<string, unknown>>;

/** Runs a command until it ends. */
export function runStonegate(...words: readonly string[]): Promise<Ended> {
  return start(words).ended;
}

const SEVERAL_CALLS = fileURLToPath(new URL('programs/several-calls.ts', import.meta.url));

/** Runs commands that end by themselves in one process, since each process takes half a second to start. */
export async function runStonegateCalls(calls: readonly (readonly string[])[]): Promise<readonly Ended[]> {
  const { code, stdout, stderr } = await start([JSON.stringify(calls)], SEVERAL_CALLS).ended;
  if (code !== 0) throw new Error(`the calls ended with ${code}: ${stderr}`);
  const results: Ended[] = JSON.parse(stdout);
  return results;
}

/**
 * Runs `stonegate serve`; resolves when it serves, rejects if it ends first.
 *
 * @param main the program, if it is not that of this version
 */
export function serveStonegate(configFile: string, main: string = MAIN): Promise<StonegateProcess> {
  return beginStonegate(configFile, main).serving;
}

/** Runs `stonegate serve`, for tests that use it while it starts. */
export function beginStonegate(configFile: string, main: string = MAIN) {
  const started = start(['serve', '--config', configFile], main);
  const serving = served(started);
  // A test that stops it before it serves does not await this promise.
  serving.catch(() => undefined);
  return {
    /** Resolves when it serves, rejects if it ends first. */
    serving,
    /** Ends the process, serving or not, if it has not ended yet. */
    stop: () => stop(started),
  };
}

async function stop({ child, ended }: Started) {
  if (!hasEnded(child)) child.kill('SIGINT');
  await ended;
}

function hasEnded({ exitCode, signalCode }: ChildProcess) {
  return exitCode !== null || signalCode !== null;
}

async function served(started: Started) {
  const { child, output, ended } = started;
  const logged = (): LogLine[] => output.stderr.split('\n').flatMap(parseLine);
  const serving = (): LogLine | undefined =>
    logged().find(({ message, admin }) => message === 'serving' && admin !== undefined);
  await eventually(() => serving() !== undefined || hasEnded(child));
  const line = serving();
  if (line === undefined) throw new Error(`stonegate serve ended at once:\n${output.stderr}`);
  const adminPort = portOf(line.admin);
  return {
    pid: child.pid ?? 0,
    /** The port to which clients connect. */
    port: typeof line.port === 'number' ? line.port : portOf(line.address),
    adminPort,
    /** 0 without a portal. */
    portalPort: line.portal === undefined ? 0 : portOf(line.portal),
    /** The lines that it has logged so far. */
    get logged() {
      return logged();
    },
    async admin(path: string) {
      const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
        headers: { connection: 'close' },
      });
      return { status: response.status, text: await response.text() };
    },
    signal: (name: NodeJS.Signals) => void child.kill(name),
    ended,
    /** Ends the process gracefully if it has not ended yet. */
    stop: () => stop(started),
  };
}

type Started = ReturnType<typeof start>;

function start(words: readonly string[], main: string = MAIN) {
  const output = { stdout: '', stderr: '' };
  const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...output }));
  });
  return { child, output, ended };
}

/** Empty for text that is not JSON, such as a warning of Node. */
function parseLine(text: string): LogLine[] {
  if (!text.startsWith('{') || !text.endsWith('}')) return [];
  const line: unknown = JSON.parse(text);
  return typeof line === 'object' && line !== null ? [{ ...line }] : [];
}

function portOf(address: unknown) {
  if (typeof address === 'object' && address !== null && 'port' in address) return Number(address.port);
  throw new Error(`no address: ${JSON.stringify(address)}`);
}
