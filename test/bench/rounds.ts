/**
 * Several at once, warmed up and then measured round by round.
 */
import type { Load, Shape } from './generator.ts';
import type { Serving } from './processes.ts';
import { type Row, rowOf } from './rows.ts';
import type { Site } from './site.ts';
import { type Entrant, type Measured, playRound, takeTurn } from './turns.ts';

export interface Entry {
  readonly name: string;
  readonly shape: Shape;
  /** Seconds of load before the first round. */
  readonly warmUp: number;
  start(): Promise<Serving>;
}

export interface RoundsOptions {
  readonly site: Site;
  readonly entries: readonly Entry[];
  readonly load: Load;
  readonly rounds: number;
  /** Of load for each, in a round. */
  readonly seconds: number;
  /** Called after warming up and after the last round. */
  readonly atBounds?: () => Promise<void>;
}

/** @returns a row for each entry, in their order. @throws where requests are refused, or none goes through */
export async function playRounds(options: RoundsOptions): Promise<Row[]> {
  const { site, entries, load, rounds, seconds, atBounds } = options;
  const servings: Serving[] = [];
  const entrants: Entrant[] = [];
  const results: Measured[][] = [];
  try {
    for (const entry of entries) {
      const serving = await entry.start();
      servings.push(serving);
      entrants.push({
        serving,
        generator: await load({ ...entry.shape, folder: site.folder, port: serving.port }),
      });
      entrants.at(-1)?.generator.suspend();
    }
    await warmUp(site, entries, entrants);
    await atBounds?.();
    for (let round = 0; round < rounds; round += 1)
      results.push(await playRound(entrants, seconds, site.counts));
    await atBounds?.();
    for (const { generator } of entrants) await generator.finish();
  } finally {
    for (const { generator } of entrants) generator.kill();
    for (const serving of servings) await serving.stop();
  }
  return entries.map(({ name }, index) => rowOf(name, index, results));
}

const WARM_UP_TURN = 0.5;

/**
 * In turn too: who has rested for longer than another has another heap, and is slower for a while. Lasts until all tokens were
 * seen, which may be longer than wanted. @throws where no request goes through
 */
async function warmUp(site: Site, entries: readonly Entry[], entrants: readonly Entrant[]): Promise<void> {
  const cold = new Map(
    entrants.map((entrant, index) => {
      const { warmUp: seconds = 0, shape } = entries[index] ?? {};
      return [entrant, { seconds, requests: (shape?.tokens.length ?? 0) + (shape?.connections ?? 0) }];
    }),
  );
  let { requests: before } = await site.counts();
  while (cold.size > 0)
    for (const [entrant, missing] of cold) {
      missing.seconds -= await takeTurn(entrant, WARM_UP_TURN);
      const { requests: now } = await site.counts();
      if (now === before) throw new Error(`no request went through:\n${entrant.serving.output()}`);
      missing.requests -= now - before;
      before = now;
      if (missing.seconds <= 0 && missing.requests <= 0) cold.delete(entrant);
    }
}
