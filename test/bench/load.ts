/**
 * The load: `wrk` for HTTP/1.1, `h2load` for HTTP/2, read from what they print.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LOAD_CORE } from './processes.ts';
import { quantile } from './statistics.ts';

const run = promisify(execFile);

export interface LoadOptions {
  readonly folder: string;
  readonly port: number;
  readonly path: string;
  readonly seconds: number;
  readonly connections: number;
  /** In turn, one a request. */
  readonly tokens: readonly string[];
  /** Bytes of a POST's body; a GET without it. */
  readonly bodyBytes?: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export async function wrk(options: LoadOptions): Promise<LoadResult> {
  const { folder, port, path, seconds, connections } = options;
  const script = join(folder, 'load.lua');
  writeFileSync(script, luaOf(options));
  const { stdout } = await run('taskset', [
    ...['-c', LOAD_CORE, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'],
    ...['--latency', '-s', script, `https://127.0.0.1:${port}${path}`],
  ]);
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(stdout);
  if (refused !== null) throw new Error(`${refused[1]} answers were refusals:\n${stdout}`);
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    requests: Number(/(\d+) requests in/.exec(stdout)?.[1]),
    p50: milliseconds(/50%\s+([\d.]+)(\w+)/.exec(stdout)),
    p99: milliseconds(/99%\s+([\d.]+)(\w+)/.exec(stdout)),
  };
}

export async function h2load(options: LoadOptions): Promise<LoadResult> {
  const { port, path, seconds, connections, tokens } = options;
  const { stdout } = await run('taskset', [
    ...['-c', LOAD_CORE, 'h2load', '-t1', `-c${connections}`, '-m8', `-D${seconds}`],
    ...['-H', `Authorization: Bearer ${tokens[0]}`, `https://127.0.0.1:${port}${path}`],
  ]);
  const [, requests = '0'] = /, (\d+) succeeded/.exec(stdout) ?? [];
  const failed = Number(/(\d+) failed/.exec(stdout)?.[1] ?? 0);
  if (failed > 0 || !stdout.includes('Application protocol: h2'))
    throw new Error(`h2load had failures:\n${stdout}`);
  const time = /time for request:\s+\S+\s+\S+\s+([\d.]+)(\w+)/.exec(stdout);
  return {
    requestsPerSecond: Number(/, ([\d.]+) req\/s/.exec(stdout)?.[1]),
    requests: Number(requests),
    p50: milliseconds(time),
    p99: Number.NaN,
  };
}

/** The same offered load for everybody: what a person waits, in milliseconds, where a proxy is not at its limit. */
export async function latencyAt(
  requestsPerSecond: number,
  options: LoadOptions,
): Promise<{ p50: number; p99: number }> {
  const { folder, port, path, seconds, connections, tokens } = options;
  const log = join(folder, 'h2load.log');
  rmSync(log, { force: true });
  await run('taskset', [
    ...['-c', LOAD_CORE, 'h2load', '--h1', '-t1', `-c${connections}`, `-D${seconds}`],
    ...[`--rps=${(requestsPerSecond / connections).toFixed(3)}`, `--log-file=${log}`],
    ...['-H', `Authorization: Bearer ${tokens[0]}`, `https://127.0.0.1:${port}${path}`],
  ]);
  const times = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.split('\t')[2]) / 1_000);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** Lua runs once a request where there are many tokens, else wrk builds its one request itself. */
function luaOf({ folder, tokens, bodyBytes }: LoadOptions): string {
  const lines = [`wrk.headers["Authorization"] = "Bearer ${tokens[0]}"`];
  if (bodyBytes !== undefined)
    lines.push(
      'wrk.method = "POST"',
      'wrk.headers["Content-Type"] = "application/json"',
      `wrk.body = string.rep("x", ${bodyBytes})`,
    );
  if (tokens.length > 1) {
    const file = join(folder, 'tokens.txt');
    writeFileSync(file, tokens.join('\n'));
    lines.push(
      'local requests, turn = {}, 0',
      'function init(args)',
      `  for token in io.lines("${file}") do`,
      '    wrk.headers["Authorization"] = "Bearer " .. token',
      '    requests[#requests + 1] = wrk.format()',
      '  end',
      'end',
      'function request()',
      '  turn = turn % #requests + 1',
      '  return requests[turn]',
      'end',
    );
  }
  return `${lines.join('\n')}\n`;
}

function milliseconds(match: RegExpExecArray | null): number {
  const factors: Record<string, number> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };
  return match === null ? Number.NaN : Number(match[1]) * (factors[match[2] ?? ''] ?? Number.NaN);
}
