/** Start to ready, and how often an idle process is woken. */
import { setTimeout as pause } from 'node:timers/promises';
import { startStonegate } from './contenders/stonegate.ts';
import type { Site } from './site.ts';
import { median } from './statistics.ts';
import { wakeUps } from './usage.ts';
import { until } from './waiting.ts';

export interface Life {
  /** Seconds, on a core that is not shared with another contender. */
  readonly startToReady: number;
  readonly idleWakeUpsPerSecond: number;
}

const STARTS = 3;
const IDLE_SECONDS = 20;

export async function measureLife(site: Site): Promise<Life> {
  const starts: number[] = [];
  let idleWakeUps = 0;
  for (let turn = 1; turn <= STARTS; turn += 1) {
    const began = performance.now();
    const serving = await startStonegate({ site, upstream: 'plain', name: 'life' });
    const ready = `http://127.0.0.1:${serving.adminPort}/readyz`;
    await until(
      serving,
      async () => (await fetch(ready, { headers: { connection: 'close' } })).ok || undefined,
    );
    starts.push((performance.now() - began) / 1_000);
    if (turn === STARTS) {
      await pause(5_000);
      const before = wakeUps(serving.pid);
      await pause(IDLE_SECONDS * 1_000);
      idleWakeUps = wakeUps(serving.pid) - before;
    }
    await serving.stop();
  }
  return {
    startToReady: median(starts),
    idleWakeUpsPerSecond: idleWakeUps / IDLE_SECONDS,
  };
}
