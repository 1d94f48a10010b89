/**
 * What a process uses of the machine, from /proc (proc(5)): CPU, memory, and how often it was woken. Workers
 * count with the process that started them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';

/** The scheduler's own account in nanoseconds; a kernel built without it has hundredths of a second only. */
const HAS_SCHEDSTAT = existsSync(`/proc/${process.pid}/schedstat`);
const TICKS_PER_SECOND = 100;

/**
 * Seconds of CPU that the process's threads and its workers have used. A thread that has ended is not among
 * them.
 */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, member) => sum + ownCPUSeconds(member), 0);
}

/** Resident memory in bytes, of the same. */
export function residentBytes(pid: number): number {
  return family(pid).reduce((sum, member) => sum + ownResidentBytes(member), 0);
}

/** How often the main thread went to sleep by itself, which is how often something woke it. */
export function wakeUps(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}

const REST_MS = 4;
const PATIENCE_MS = 1_000;

/**
 * Waits until a process has nothing more to do: it has used no CPU for a while and does not wait for any.
 * @returns when that began, by `performance.now()`; after a second the process is taken for one that is never
 * idle
 */
export async function untilAtRest(pid: number): Promise<number> {
  const deadline = performance.now() + PATIENCE_MS;
  let busy = performance.now();
  let used = cpuSeconds(pid);
  while (performance.now() < Math.min(deadline, busy + REST_MS)) {
    await pause(1);
    const now = cpuSeconds(pid);
    if (now !== used || family(pid).some(wantsCPU)) busy = performance.now();
    used = now;
  }
  return busy;
}

function wantsCPU(pid: number): boolean {
  return threadsOf(pid).some((thread) => {
    const [, state = ''] = read(`/proc/${pid}/task/${thread}/stat`).split(') ');
    return state.startsWith('R');
  });
}

function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number).flatMap(family))];
}

function ownCPUSeconds(pid: number): number {
  if (HAS_SCHEDSTAT) return threadsOf(pid).reduce((sum, thread) => sum + threadSeconds(pid, thread), 0);
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function threadSeconds(pid: number, thread: string): number {
  return Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1e9;
}

function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`);
}

/** Nothing of a thread that has ended since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function ownResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}
