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
      const generator = await load({ ...entry.shape, folder: site.folder, port: serving.port });
      entrants.push({ serving, generator });
      await warmUp(site, entry, { serving, generator });
    }
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

/** Lasts until all tokens were seen, which may be longer than wanted. @throws where no request goes through */
async function warmUp(site: Site, { shape, warmUp }: Entry, entrant: Entrant): Promise<void> {
  const seen = async () => (await site.counts()).requests;
  let before = await seen();
  let missing = shape.tokens.length + shape.connections;
  for (let seconds = warmUp; missing > 0; seconds = 1) {
    await takeTurn(entrant, seconds);
    const now = await seen();
    if (now === before) throw new Error(`no request went through:\n${entrant.serving.output()}`);
    missing -= now - before;
    before = now;
  }
}
