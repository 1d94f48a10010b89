/** The time until the RBAC index is complete, with a real kube-apiserver; see `programs/index-ready.ts`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { verdict } from './access.ts';
import { program } from './processes.ts';

export interface IndexReadyFigures {
  readonly bindings: number;
  /** Of times: the index to the plain lists. */
  readonly ratio: number;
  readonly indexMs: number;
  readonly plainMs: number;
  /** Of the CPU of the process that lists, without kube-apiserver's. */
  readonly cpuRatio: number;
}

export async function measureIndexReady(): Promise<IndexReadyFigures> {
  const words = ['--expose-gc', program('index-ready')];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout);
}

export function indexReadyVerdicts({ ratio }: IndexReadyFigures): string[] {
  return [verdict('time until the index is complete, to that of the plain lists', ratio, 2)];
}
