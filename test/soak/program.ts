/** `stonegate serve` as a process of its own, which can be measured from outside. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import type { Holdings, MeasureRequest } from './holdings.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const MEASURE = new URL('./programs/measure.ts', import.meta.url).href;

export interface Program {
  readonly hasEnded: boolean;
  measure(): Promise<Holdings>;
  /** The value of a metric, summed over its series. */
  metric(name: string): Promise<number>;
  reload(): void;
  stop(): Promise<void>;
}

/** @param log the file for what it logs */
export async function startProgram(configFile: string, adminPort: number, log: string): Promise<Program> {
  const file = openSync(log, 'w');
  const words = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--import', MEASURE];
  const child = spawn(process.execPath, [...words, MAIN, 'serve', '--config', configFile], {
    stdio: ['ignore', file, file, 'ipc'],
  });
  closeSync(file);
  const ended = once(child, 'exit');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const read = async (path: string): Promise<Response> =>
    await fetch(`http://127.0.0.1:${adminPort}${path}`, { headers: { connection: 'close' } });
  await eventually(async () => hasEnded() || (await read('/readyz')).status === 200);
  if (hasEnded()) throw new Error(`stonegate serve ended: see ${log}`);

  return {
    get hasEnded() {
      return hasEnded();
    },
    async measure() {
      const response = once(child, 'message');
      const request: MeasureRequest = { adminPort };
      child.send(request);
      const [holdings]: Holdings[] = await response;
      if (holdings === undefined) throw new Error('no measurement');
      return holdings;
    },
    async metric(name) {
      const text = await (await read('/metrics')).text();
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    reload: () => void child.kill('SIGHUP'),
    async stop() {
      if (!hasEnded()) child.kill('SIGINT');
      await ended;
    },
  };
}
