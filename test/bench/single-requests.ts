/**
 * What single requests cost the main thread, each in a process of its own; see `programs/single-request.ts`.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CONTENDER_CORE, NODE, program } from './processes.ts';
import { verdict } from './verdicts.ts';

interface SingleRequestRow {
  readonly request: string;
  /** Of the main thread's CPU, the most of three times; the first compiles the code. */
  readonly ms: number;
  readonly laterMs: number;
  readonly addedMB: number;
}

const MS_AT_MOST = 100;
const MB_AT_MOST = 100;

export async function measureSingleRequests(): Promise<SingleRequestRow[]> {
  const rows: SingleRequestRow[] = [];
  for (const request of await run()) rows.push({ request, ...(await run(request)) });
  return rows;
}

async function run(...args: string[]) {
  const words = ['-c', CONTENDER_CORE, ...NODE, program('single-request'), ...args];
  const { stdout } = await promisify(execFile)('taskset', words);
  return JSON.parse(stdout);
}

export function singleRequestVerdicts(rows: readonly SingleRequestRow[]): string[] {
  const most = (of: (row: SingleRequestRow) => number) => Math.max(...rows.map(of));
  const [ms, mb] = [most((row) => row.ms), most((row) => row.addedMB)];
  return [
    verdict(ms < MS_AT_MOST, `main thread held for ${ms.toFixed(0)} ms, less than ${MS_AT_MOST} wanted`),
    verdict(mb < MB_AT_MOST, `${mb.toFixed(0)} MB added, less than ${MB_AT_MOST} wanted`),
  ];
}
