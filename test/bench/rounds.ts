/** Warms several contenders up and measures them round by round. */
import { keystoneToken } from './configuration.ts';
import type { Contender } from './contenders/contender.ts';
import type { Load, Shape } from './generator.ts';
import { h2load } from './h2load.ts';
import type { Serving } from './processes.ts';
import { type Row, rowOf } from './rows.ts';
import type { Scenario } from './scenarios.ts';
import type { Site } from './site.ts';
import { type Entrant, type Measured, playRound, TURN_SECONDS, takeTurn } from './turns.ts';
import { wrk } from './wrk.ts';

export interface Pace {
  readonly rounds: number;
  /** Of load for each contender, in a round. */
  readonly seconds: number;
  /** Of one turn. */
  readonly turnSeconds?: number;
}

/** Seconds of load for each contender, until V8 has compiled the hot code. */
const WARM_UP = 9;

export const ROUND_SECONDS = 2;
export const QUICK: Pace = { rounds: 5, seconds: ROUND_SECONDS };

/** @returns a row for each contender; ratios are of the first to it */
export function play(
  site: Site,
  scenario: Scenario,
  contenders: readonly Contender[],
  pace: Pace,
): Promise<Row[]> {
  const { upstream, http2, shape } = scenario;
  return playRounds({
    ...pace,
    site,
    load: http2 ? h2load : wrk,
    warmUp: WARM_UP,
    entries: contenders.map((contender) => ({
      name: contender.name,
      shape: { ...shape, tokens: [keystoneToken()] },
      start: () => contender.start({ site, upstream, http2 }),
    })),
  });
}

export interface Entry {
  readonly name: string;
  readonly shape: Shape;
  start(): Promise<Serving>;
}

export interface RoundsOptions {
  readonly site: Site;
  readonly entries: readonly Entry[];
  readonly load: Load;
  /** Seconds of load for each before the first round. */
  readonly warmUp: number;
  readonly rounds: number;
  /** Of load for each, in a round. */
  readonly seconds: number;
  readonly turnSeconds?: number;
  /** Called after warming up and after the last round. */
  readonly atBounds?: () => Promise<void>;
}

/** @returns a row for each entry, in their order. @throws if requests are refused or none succeeds */
export async function playRounds(options: RoundsOptions): Promise<Row[]> {
  const { site, entries, load, rounds, seconds, turnSeconds = TURN_SECONDS, atBounds } = options;
  const servings: Serving[] = [];
  const entrants: Entrant[] = [];
  const results: Measured[][] = [];
  try {
    for (const entry of entries) {
      const serving = await entry.start();
      servings.push(serving);
      const generator = await load({ ...entry.shape, folder: site.folder, port: serving.port });
      generator.suspend();
      entrants.push({ serving, generator });
    }
    await warmUp(site, options, entrants);
    await atBounds?.();
    for (let round = 0; round < rounds; round += 1)
      results.push(await playRound(entrants, seconds, turnSeconds, site.counts));
    await atBounds?.();
    for (const { generator } of entrants) await generator.finish();
  } finally {
    for (const { generator } of entrants) generator.kill();
    for (const serving of servings) await serving.stop();
  }
  return entries.map(({ name }, index) => rowOf(name, index, results));
}

const WARM_UP_TURN = 0.5;
/** On a busy machine the first turns may end before the first TLS handshake does. */
const SILENT_TURNS = 20;

/**
 * Warms all up in turn, since a contender that rested for longer has another heap and is slower for a while.
 * It lasts until all tokens were used, if that takes longer than wanted. @throws if no request succeeds
 */
async function warmUp(
  site: Site,
  { entries, warmUp: wanted }: RoundsOptions,
  entrants: readonly Entrant[],
): Promise<void> {
  const missing = entries.map(({ shape }) => shape.tokens.length + shape.connections);
  const silent = entries.map(() => 0);
  let { requests: before } = await site.counts();
  for (let seconds = 0; seconds < wanted || missing.some((count) => count > 0); seconds += WARM_UP_TURN)
    for (const [index, entrant] of entrants.entries()) {
      await takeTurn(entrant, WARM_UP_TURN);
      const { requests: now } = await site.counts();
      silent[index] = now === before ? (silent[index] ?? 0) + 1 : 0;
      if (silent[index] > SILENT_TURNS)
        throw new Error(`no request went through:\n${entrant.serving.output()}`);
      missing[index] = (missing[index] ?? 0) - (now - before);
      before = now;
    }
}
