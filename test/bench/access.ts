/** The RBAC index and the features on it, in a process of their own on one core; see `programs/access.ts`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CONTENDER_CORE, program } from './processes.ts';
import { verdict } from './verdicts.ts';

interface Compared {
  readonly ms: number;
  readonly unavoidableMs: number;
  readonly ratio: number;
}

export interface AccessFigures {
  readonly bytesPerBinding: number;
  readonly lists: { readonly namespacesPerUser: number; readonly first: Compared; readonly later: Compared };
  readonly relist: Compared & { readonly namespaces: number };
  readonly whoCan: Compared & { readonly grants: number };
  readonly events: { readonly p50Ms: number; readonly p99Ms: number };
}

export async function measureAccess(): Promise<AccessFigures> {
  const words = ['-c', CONTENDER_CORE, process.execPath, '--expose-gc', program('access')];
  const { stdout } = await promisify(execFile)('taskset', words);
  return JSON.parse(stdout);
}

export function accessVerdicts({ bytesPerBinding, lists, relist, whoCan }: AccessFigures): string[] {
  return [
    atMost("a user's first filtered list, to serializing the same namespaces", lists.first.ratio, 2),
    atMost('later ones', lists.later.ratio, 1.1),
    atMost('a list of all namespaces after 410, to serializing them', relist.ratio, 2),
    atMost('who-can, to serializing its result', whoCan.ratio, 2),
    atMost('memory for each binding in kB', bytesPerBinding / 1_000, 3),
  ];
}

function atMost(what: string, measured: number, most: number): string {
  return verdict(measured <= most, `${what}: ${measured.toFixed(2)}, at most ${most} wanted`);
}
